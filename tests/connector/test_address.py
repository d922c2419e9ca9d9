"""Addresses of stores: what is understood, and what is refused with which words."""

from __future__ import annotations

import pytest

from sciret.connector.address import Address, is_address
from sciret.errors import SettingsError


@pytest.mark.parametrize(
    ("name", "url", "alias"),
    [
        ("http://127.0.0.1:9200/papers", "http://127.0.0.1:9200", "papers"),
        ("https://host:9200/papers/", "https://host:9200", "papers"),
        ("https://host/papers", "https://host:443", "papers"),
        ("http://host/papers", "http://host:80", "papers"),
        ("https://gate.example.org/search/cluster/papers-2", "https://gate.example.org:443/search/cluster", "papers-2"),
        ("http://[::1]:9200/papers", "http://[::1]:9200", "papers"),
        ("https://host:9200/%C3%BCber", "https://host:9200", "über"),
        ("https://a:9200,b:9201/papers", "https://a:9200,b:9201", "papers"),
        ("http://a,[::1]:9200/x/papers", "http://a:80,[::1]:9200/x", "papers"),
    ],
)
def test_a_cluster_and_an_alias(name: str, url: str, alias: str) -> None:
    """The port is the scheme's own unless it is given; a path before the alias is a proxy's."""
    address = Address.parse(name)
    assert (address.url, address.alias) == (url, alias)
    assert address.tls == name.startswith("https")
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize(
    "name",
    [
        "https://me:hunter2@host:9200/papers",
        "https://me@host/papers",
        "https://:hunter2@host/p",
        "https://a:9200,me:hunter2@host:9200/papers",
        "https://me:hun,ter2@host:9200/papers",
    ],
)
def test_secrets_do_not_belong_into_an_address(name: str) -> None:
    """The remedy is named, the secret is not repeated."""
    with pytest.raises(SettingsError, match="SCIRET_OPENSEARCH_PASSWORD") as caught:
        Address.parse(name)
    assert "ter2" not in str(caught.value)
    assert "hun" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "http://host:9200",
        "http://host:9200/",
        "http:///papers",
        "ftp://host/papers",
        "http://host:99999/papers",
        "http://a,,b/papers",
        "http://a,b:x/papers",
        "http://host:0/papers",
        "http://[::1/papers",
        "http://host/Papers",
        "http://host/_all",
        "http://host/a,b",
        "http://host/pap*",
        "http://host/papers?refresh=true",
        "http://host/papers#x",
        f"http://host/{'p' * 300}",
    ],
)
def test_what_is_no_address_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=r"alias|address"):
        Address.parse(name)


def test_files_are_not_addresses() -> None:
    assert is_address("HTTPS://host/papers")
    assert not is_address("papers.db")
    assert not is_address("http.db")
