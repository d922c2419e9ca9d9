"""A connection to a cluster whose errors say what to do about them, made after a look at who is there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from opensearchpy import OpenSearch
from opensearchpy.exceptions import AuthorizationException, OpenSearchException, TransportError

from sciret.connector.address import Address
from sciret.connector.backoff import Patience, persist
from sciret.connector.credentials import Credentials
from sciret.connector.failures import explain, shard_failure
from sciret.connector.server import Server
from sciret.errors import StoreError

PATIENCE = 60
"""Seconds that an answer may take."""
POOL = 8
"""Connections that are kept open: the bulk writer's, and a search's."""


class Client:
    """One cluster and one alias on it. May be used by any thread."""

    def __init__(self, address: Address, api: OpenSearch, timeout: float = PATIENCE) -> None:
        self.address, self.timeout = address, timeout
        self.api = api
        """opensearch-py's own client, to be used within `explained`."""
        self.server = Server("", "", None)
        self.patience: Patience | None = None
        """How long to wait for a cluster that is busy, electing or away; None: not at all, somebody is waiting."""

    @property
    def path(self) -> str:
        """The alias, as a part of a request's path."""
        return quote(self.address.alias, safe="")

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """One request, that may be made twice. `path` is from the cluster's root, its parts already quoted."""

        def request() -> Any:
            # Made anew each time: opensearch-py takes things out of it.
            options = {**(params or {}), "request_timeout": timeout or self.timeout}
            return self.api.transport.perform_request(method, path, params=options, body=body, headers=headers)

        with self.explained():
            return persist(request, self.patience) if self.patience else request()

    def msearch(self, bodies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Several searches of the alias in one round trip; the first that failed is raised.

        The answer is not compressed: it is ids, which are few, or vectors, which hardly shrink, and the server would
        spend as much time on packing records as on finding them (benchmarks/records.py).
        """
        lines = "".join(f"{{}}\n{json.dumps(body, separators=(',', ':'))}\n" for body in bodies)
        answer = self.call("POST", f"/{self.path}/_msearch", lines, headers={"accept-encoding": "identity"})
        found: list[dict[str, Any]] = answer["responses"]
        for each in found:
            if "error" in each:
                raise explain(TransportError(each["status"], each["error"].get("type"), each), self.address)
            if each["_shards"]["failed"]:
                raise StoreError(
                    f"{self.address}: {shard_failure(each['_shards'])}; see `sciret index status`, then retry"
                )
        return found

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Errors of opensearch-py become ours."""
        try:
            yield
        except OpenSearchException as error:
            raise explain(error, self.address) from error

    def close(self) -> None:
        """Idempotent."""
        self.api.close()


def connect(address: Address, credentials: Credentials | None = None, *, timeout: float = PATIENCE) -> Client:
    """Connect, and refuse a server that sciret cannot work with."""
    who = credentials or Credentials()
    tls: dict[str, Any] = {}
    if address.tls:
        tls = {
            "verify_certs": not who.insecure,
            "ssl_show_warn": False,  # whoever asked for it is told so in our words
            "ca_certs": str(who.ca) if who.ca else None,
            "client_cert": str(who.certificate) if who.certificate else None,
            "client_key": str(who.key) if who.key else None,
        }
    elif who.user:
        _refuse_plain_password(address)
    api = OpenSearch(
        hosts=[{"host": host, "port": port, "url_prefix": address.prefix} for host, port in address.hosts],
        use_ssl=address.tls,
        http_auth=who.authentication(),
        # Answers are compressed. Requests are not, as `http_compress` would have it: that gzips at level 9, which costs
        # more processor time than a cluster nearby gains by it.
        headers={"accept-encoding": "gzip"},
        pool_maxsize=POOL,
        timeout=timeout,
        max_retries=2,
        retry_on_status=(502, 503, 504),
        **tls,
    )
    client = Client(address, api, timeout)
    try:
        client.server = find_server(client)
        missing = client.server.lacks()
        if missing:
            raise StoreError(f"{address.url}: {missing}")
    except BaseException:
        client.close()
        raise
    return client


def _refuse_plain_password(address: Address) -> None:
    if not all(host in ("127.0.0.1", "::1", "localhost") for host, _ in address.hosts):
        raise StoreError(f"{address}: a password is not sent without TLS: write https:// instead of http://")


def find_server(client: Client) -> Server:
    """Who is there. A role that may not look at the nodes' plugins can still search."""
    version = client.call("GET", "/").get("version", {})
    try:
        with client.explained():
            listed = client.api.cat.plugins(format="json", h="component")
        plugins = frozenset(row["component"] for row in listed)
    except StoreError as error:
        if not isinstance(error.__cause__, AuthorizationException):
            raise
        plugins = None
    # A domain of AWS that is set to please old clients says a version of its own.
    return Server(str(version.get("number", "")), str(version.get("distribution", "elasticsearch")), plugins)
