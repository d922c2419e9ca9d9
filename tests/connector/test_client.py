"""The client: what is asked of a server first, and how its refusals are told."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from opensearchpy.exceptions import AuthenticationException, AuthorizationException, SSLError, TransportError

from sciret.connector.address import Address
from sciret.connector.client import connect
from sciret.connector.credentials import Credentials
from sciret.connector.failures import MissingIndexError, RefusedRequestError, explain
from sciret.connector.server import Server
from sciret.errors import StoreError

ADDRESS = Address.parse("https://host:9200/papers")
ME = Credentials(user="me", password="hunter2")  # noqa: S106  # of nobody


class Answering(BaseHTTPRequestHandler):
    """Says of itself what the test wants, and keeps what it was sent."""

    answers: dict[str, Any]
    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        self.seen.append({name.lower(): value for name, value in self.headers.items()})
        found = self.answers.get(self.path.partition("?")[0])
        content = json.dumps(found if found is not None else {"error": {"type": "no", "reason": "not here"}}).encode()
        self.send_response(200 if found is not None else 403)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def impostor(
    number: str, distribution: str | None, plugins: list[str] | None
) -> Iterator[tuple[Address, type[Answering]]]:
    """Something that is no OpenSearch of ours: other products and versions cannot be run here."""
    version = {"number": number, **({"distribution": distribution} if distribution else {})}
    answers: dict[str, Any] = {"/": {"version": version}}
    if plugins is not None:
        answers["/_cat/plugins"] = [{"component": name} for name in plugins]
    handler = type("Handler", (Answering,), {"answers": answers, "seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Address.parse(f"http://127.0.0.1:{server.server_port}/papers"), handler
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("number", "distribution", "plugins", "message"),
    [
        ("8.15.0", None, [], "this is elasticsearch 8.15.0, not OpenSearch"),
        ("2.11.1", "opensearch", ["opensearch-knn"], "this is OpenSearch 2.11.1: sciret needs 2.19 or newer"),
        ("1.3.0", "opensearch", ["opensearch-knn"], "needs 2.19 or newer"),
        ("3.6.0", "opensearch", ["analysis-icu"], "without its k-NN plugin: install opensearch-knn"),
    ],
)
def test_a_server_that_will_not_do_is_refused_in_one_sentence(
    number: str, distribution: str | None, plugins: list[str], message: str
) -> None:
    with impostor(number, distribution, plugins) as (address, _), pytest.raises(StoreError, match=message):
        connect(address)


def test_who_may_not_see_the_plugins_may_still_connect() -> None:
    """A reader's role does not show the nodes: what is missing shows when it is missed."""
    with impostor("3.6.0", "opensearch", None) as (address, _):
        client = connect(address)
        assert client.server.plugins is None
        client.close()


@pytest.mark.parametrize("server", ["opensearch", "opensearch_2"])
def test_a_real_server_will_do(request: pytest.FixtureRequest, server: str) -> None:
    client = connect(Address.parse(f"{request.getfixturevalue(server).url}/papers"))
    assert client.server.lacks() is None
    assert client.server.has("opensearch-knn")
    client.close()


def test_requests_to_aws_are_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the service and region that were named, with the keys of the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with impostor("2.19.0", "opensearch", ["opensearch-knn"]) as (address, handler):
        connect(address, Credentials(aws_region="eu-central-1")).close()
        signed = [sent["authorization"] for sent in handler.seen]
    assert len(signed) == 2
    assert all(each.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") for each in signed)
    assert all("/eu-central-1/es/aws4_request" in each for each in signed)


def test_nobody_there() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(StoreError, match=r"no connection .*check the address.*`sciret opensearch up`"):
        connect(Address.parse(f"http://127.0.0.1:{port}/papers"))


def test_no_answer() -> None:
    """A server that takes the connection and says nothing is not waited for without end."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = Address.parse(f"http://127.0.0.1:{silent.getsockname()[1]}/papers")
        with pytest.raises(StoreError, match="no answer in time"):
            connect(address, timeout=0.3)


def test_tls_where_there_is_none(opensearch: Any) -> None:
    with pytest.raises(StoreError, match="does not speak TLS: write http://"):
        connect(Address.parse(f"{opensearch.url.replace('http://', 'https://')}/papers"))


def test_a_password_is_not_sent_in_the_open() -> None:
    """To this machine it may."""
    with pytest.raises(StoreError, match="not sent without TLS: write https://"):
        connect(Address.parse("http://host:9200/papers"), ME)
    with impostor("3.6.0", "opensearch", None) as (address, handler):
        connect(address, ME).close()
        assert all(sent["authorization"].startswith("Basic ") for sent in handler.seen)


def test_what_the_server_refuses_is_told_in_its_own_words(opensearch: Any) -> None:
    client = connect(Address.parse(f"{opensearch.url}/nowhere"))
    with pytest.raises(MissingIndexError, match="no index 'nowhere' at"):
        client.call("GET", "/nowhere/_mapping")
    with pytest.raises(RefusedRequestError, match="unknown query") as caught:
        client.call("POST", "/_search", {"query": {"nonsense": {}}})
    assert caught.value.kind == "parsing_exception"
    with pytest.raises(MissingIndexError):
        client.msearch([{"query": {"match_all": {}}}])
    client.close()


NOT_ALLOWED = {"error": {"type": "security_exception", "reason": "no permissions for [indices:data/read]"}}
UNTRUSTED = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1)"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (AuthenticationException(401, "", "Unauthorized"), "set SCIRET_OPENSEARCH_USER and SCIRET_OPENSEARCH_PASSWORD"),
        (AuthorizationException(403, "", NOT_ALLOWED), "(no permissions for [indices:data/read]); ask for a role"),
        (TransportError(413, "", ""), "too large"),
        (TransportError(429, "", NOT_ALLOWED), "overloaded"),
        (TransportError(503, "", "OpenSearch Security not initialized."), "not ready (OpenSearch Security not init"),
        (TransportError(418, "", NOT_ALLOWED), "answered 418: no permissions"),
        (SSLError("N/A", UNTRUSTED, Exception()), "not trusted (self-signed certificate): set SCIRET_OPENSEARCH_CA"),
    ],
)
def test_every_refusal_has_a_remedy(error: TransportError, message: str) -> None:
    told = str(explain(error, ADDRESS))
    assert told.startswith("https://host:9200/papers: ")
    assert message in told


def test_versions_are_compared_as_numbers() -> None:
    assert Server("2.100.0", "opensearch", None).lacks() is None
    assert Server("3.0.0-alpha1", "opensearch", None).version == (3, 0, 0)
    assert not Server("2.19.1", "opensearch", None).derives_vectors
    assert Server("3.6.0", "opensearch", None).derives_vectors
