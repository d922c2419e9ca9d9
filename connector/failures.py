"""What opensearch-py raises, in words that say what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from opensearchpy.exceptions import ConnectionError as BrokenConnection
from opensearchpy.exceptions import ConnectionTimeout, OpenSearchException, SSLError, TransportError

from sciret.connector.address import Address
from sciret.errors import StoreError


class MissingIndexError(StoreError):
    """There is no index of that name."""


class RefusedRequestError(StoreError):
    """The server understood a request and will not carry it out (400): what it says is in the message."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind
        """The server's name for it, such as `resource_already_exists_exception`."""


def explain(error: OpenSearchException, address: Address) -> StoreError:
    """The same in words that say what to do."""
    if isinstance(error, SSLError):
        return StoreError(f"{address}: {_tls_remedy(str(error.error))}")
    if isinstance(error, ConnectionTimeout):
        return StoreError(
            f"{address}: no answer in time; the cluster is overloaded or out of reach, so try again later"
        )
    if isinstance(error, BrokenConnection):
        return StoreError(
            f"{address}: no connection ({_short(str(error.error))}); check the address, and that the server runs: "
            f"`sciret opensearch up` starts one on this machine"
        )
    if isinstance(error, TransportError) and isinstance(error.status_code, int):
        return _explain_status(error, address)
    return StoreError(f"{address}: {_short(str(error))}")


def _explain_status(error: TransportError, address: Address) -> StoreError:
    status, reason = int(error.status_code), reason_of(error)
    if status == 404 and "index_not_found" in str(error.error):
        return MissingIndexError(f"no index {address.alias!r} at {address.url}: `sciret ingest` makes one")
    if status == 400:
        return RefusedRequestError(f"{address}: OpenSearch refused a request: {reason}", str(error.error))
    remedies = {
        401: "it wants to know who you are: set SCIRET_OPENSEARCH_USER and SCIRET_OPENSEARCH_PASSWORD to what it knows",
        403: f"you may not do this there ({reason}); ask for a role that may",
        413: "the request was too large for it; write fewer papers at once",
        429: f"the cluster is overloaded ({reason}); try again later",
        503: f"the cluster is not ready ({reason}); try again later",
    }
    return StoreError(f"{address}: {remedies.get(status, f'OpenSearch answered {status}: {reason}')}")


def reason_of(error: TransportError) -> str:
    """The innermost reason that the server gives, in one line."""
    info: Any = error.info
    try:
        cause = info["error"]
        root = (cause.get("root_cause") or [cause])[0]
        while isinstance(root.get("caused_by"), dict):
            root = root["caused_by"]
        return _short(str(root.get("reason") or root.get("type")))
    except (TypeError, KeyError, AttributeError):
        return _short(str(info or error.error))


def _tls_remedy(message: str) -> str:
    if "WRONG_VERSION_NUMBER" in message or "RECORD_LAYER_FAILURE" in message:
        return "it does not speak TLS: write http:// instead of https://"
    if "CERTIFICATE_VERIFY_FAILED" in message:
        why = re.search(r"certificate verify failed: ([^(\]']*)", message)
        return (
            f"its certificate is not trusted ({why[1].strip() if why else 'verify failed'}): set SCIRET_OPENSEARCH_CA "
            f"to the file of the authority that issued it"
        )
    return f"no TLS connection ({_short(message)})"


def shard_failure(shards: Mapping[str, Any]) -> str:
    failures = shards.get("failures") or [{}]
    reason = failures[0].get("reason", {})
    reason = reason.get("caused_by") or reason
    why = _short(str(reason.get("reason", "no reason given")))
    return f"{shards['failed']} of {shards['total']} shards did not answer ({why})"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:299] + "…"
