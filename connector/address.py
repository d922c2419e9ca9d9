"""Where an OpenSearch store is: `https://host:9200/papers` names a cluster and one alias on it.

`https://a:9200,b:9200/papers` names several nodes of the cluster: one of them may be down.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from sciret.errors import SettingsError

EXAMPLE = "https://host:9200/papers"
LONGEST = 240
"""Bytes of an alias: an index name has at most 255, and the index behind it is the alias with a number."""
_PORTS = {"http": 80, "https": 443}
_ALIAS = re.compile(r"[^-_+.\s\\/*?\"<>|,#:%A-Z\0-\x1f][^\s\\/*?\"<>|,#:%A-Z\0-\x1f]*")


@dataclass(frozen=True, slots=True)
class Address:
    """A cluster and an alias on it. Carries no secret: it is printed in messages."""

    scheme: str
    hosts: tuple[tuple[str, int], ...]
    """Name and port of one node or more; any of them will do."""
    prefix: str
    """Path before the alias, where a proxy has one: `/search`, or nothing."""
    alias: str

    @property
    def url(self) -> str:
        """The cluster's, without the alias."""
        hosts = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        return f"{self.scheme}://{','.join(hosts)}{self.prefix}"

    @property
    def tls(self) -> bool:
        return self.scheme == "https"

    def __str__(self) -> str:
        return f"{self.url}/{self.alias}"

    @classmethod
    def parse(cls, name: str) -> Address:
        """From the name of a store. The error never repeats what might be a password."""
        try:
            parts = urlsplit(name)
            _refuse_secrets(parts)
            nodes = [urlsplit(f"//{node}") for node in parts.netloc.split(",")]
            hosts = tuple((node.hostname or "", node.port) for node in nodes)
        except ValueError:
            raise SettingsError(f"that is no address of a store; write it like {EXAMPLE}") from None
        if parts.scheme not in _PORTS or not all(host and port != 0 for host, port in hosts):
            raise SettingsError(f"{name!r} is no address of a store; write it like {EXAMPLE}")
        if parts.query or parts.fragment:
            raise SettingsError(f"{name!r}: an address ends with the alias; leave out what follows it")
        prefix, _, alias = unquote(parts.path.rstrip("/")).rpartition("/")
        numbered = tuple((host, port or _PORTS[parts.scheme]) for host, port in hosts)
        return cls(parts.scheme, numbered, prefix, checked_alias(alias))


def _refuse_secrets(parts: SplitResult) -> None:
    _, secret, host = parts.netloc.rpartition("@")
    if secret:
        raise SettingsError(
            f"the address of a store must hold no user or password, since it is shown and logged: write "
            f"{parts.scheme}://{host}/…, and set SCIRET_OPENSEARCH_USER and SCIRET_OPENSEARCH_PASSWORD"
        )


def is_address(store: str) -> bool:
    """Whether the name of a store stands for a cluster, and not for a file."""
    return store.lower().startswith(("http://", "https://"))


def checked_alias(alias: str) -> str:
    """As OpenSearch wants the names of indices."""
    if not alias:
        raise SettingsError(f"the address names no alias; write it like {EXAMPLE}")
    if not _ALIAS.fullmatch(alias) or len(alias.encode("utf-8", "replace")) > LONGEST:
        raise SettingsError(
            f"{alias!r} cannot be an alias: small letters, digits, - and _ will do, beginning with a letter or digit, "
            f"at most {LONGEST} bytes"
        )
    return alias
