"""A local server with the security plugin: who gets in, and who is let down."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import AuthenticationException, AuthorizationException, OpenSearch
from opensearchpy.exceptions import SSLError

from sciret.connector.local_node import Login, fetch
from sciret.connector.local_security import prepare_security
from sciret.connector.local_server import LocalServer

Connect = Callable[..., OpenSearch]


@pytest.fixture
def connect(secured_opensearch: LocalServer) -> Connect:
    def make(user: str | None = None, password: str | None = None, ca: Path | None = None, **more: Any) -> OpenSearch:
        given = (user, password or secured_opensearch.passwords[user]) if user else None
        return OpenSearch(
            secured_opensearch.url, http_auth=given, ca_certs=str(ca or secured_opensearch.ca), max_retries=0, **more
        )

    return make


def test_nobody_gets_in_without_the_password(connect: Connect) -> None:
    for client in (connect(), connect("admin", "wrong"), connect("stranger", "wrong")):
        with pytest.raises(AuthenticationException) as caught:
            client.info()
        assert caught.value.status_code == 401


def test_roles(connect: Connect, unique_name: Callable[[], str]) -> None:
    """The administrator writes, the reader reads and does not write, and who has no role does neither."""
    name = unique_name()
    connect("admin").index(index=name, body={"title": "Bees"}, id="1", refresh=True)
    assert connect("reader").count(index=name)["count"] == 1
    with pytest.raises(AuthorizationException) as caught:
        connect("reader").index(index=name, body={}, id="2")
    assert caught.value.status_code == 403
    with pytest.raises(AuthorizationException) as caught:
        connect("nobody").search(index=name, body={})
    assert caught.value.status_code == 403


def test_its_certificate_is_checked(connect: Connect, secured_opensearch: LocalServer) -> None:
    """A client that trusts another authority, or only those of the system, gets no answer."""
    security = secured_opensearch.security
    assert security is not None
    with pytest.raises(SSLError, match="CERTIFICATE_VERIFY_FAILED"):
        connect("admin", ca=security.stranger).info()
    with pytest.raises(ssl.SSLCertVerificationError):
        fetch(secured_opensearch.url, "/", Login("admin", "never sent", security.stranger))


def test_a_certificate_is_as_good_as_a_password(connect: Connect, secured_opensearch: LocalServer) -> None:
    assert secured_opensearch.security is not None
    certificate, key = map(str, secured_opensearch.security.certificate("reader"))
    client = connect(client_cert=certificate, client_key=key)
    assert client.transport.perform_request("GET", "/_plugins/_security/authinfo")["user_name"] == "reader"


def test_neighbours_under_security(connect: Connect, unique_name: Callable[[], str]) -> None:
    """Both plugins in one server."""
    name, client = unique_name(), connect("admin")
    method = {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"}
    properties = {"v": {"type": "knn_vector", "dimension": 2, "method": method}}
    client.indices.create(index=name, body={"settings": {"index.knn": True}, "mappings": {"properties": properties}})
    client.index(index=name, body={"v": [1, 0]}, id="1", refresh=True)
    answer = connect("reader").search(index=name, body={"query": {"knn": {"v": {"vector": [1, 0], "k": 1}}}})
    assert [hit["_id"] for hit in answer["hits"]["hits"]] == ["1"]


def test_secrets_are_made_once_and_kept_private(tmp_path: Path) -> None:
    """A server that is started again on its data knows the same passwords; nobody else can read them."""
    made = prepare_security(tmp_path)
    assert prepare_security(tmp_path).passwords == made.passwords
    assert len(set(made.passwords.values())) == 3
    secrets = [*tmp_path.glob("**/*.key"), *tmp_path.glob("*.password")]
    assert {file.stat().st_mode & 0o777 for file in secrets} == {0o600}
    rules = "".join(file.read_text() for file in made.node_files.glob("**/*.yml"))
    assert not any(password in rules for password in made.passwords.values())
