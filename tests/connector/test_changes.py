"""What was written to an index since the last look, on a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sciret.connector import changes
from sciret.connector.address import Address
from sciret.connector.changes import Changes, count, surplus
from sciret.connector.client import Client, connect
from sciret.connector.documents import document_id

NESTED = {"properties": {"id": {"type": "keyword"}, "parts": {"type": "nested"}}}


@pytest.fixture(params=["opensearch", "opensearch_2"])
def client(request: pytest.FixtureRequest, unique_name: Callable[[], str]) -> Iterator[Client]:
    made = connect(Address.parse(f"{request.getfixturevalue(request.param).url}/{unique_name()}"))
    yield made
    made.close()


@pytest.fixture
def index(client: Client, monkeypatch: pytest.MonkeyPatch) -> str:
    """Three shards, documents with nested parts, and pages so small that there are several."""
    monkeypatch.setattr(changes, "PAGE", 4)
    name = f"{client.address.alias}-000001"
    settings = {"number_of_shards": 3, "number_of_replicas": 0, "refresh_interval": "-1"}
    client.call("PUT", f"/{name}", {"settings": settings, "mappings": NESTED})
    return name


def put(client: Client, index: str, *ids: str) -> None:
    for each in ids:
        client.call("PUT", f"/{index}/_doc/{document_id(each)}", {"id": each, "parts": [{"x": 1}, {"x": 2}]})


def read(feed: Changes) -> list[str]:
    return sorted(paper_id for page in feed for paper_id in page)


def test_first_everything_then_what_changed(client: Client, index: str) -> None:
    """Each paper once, whether new or written again, without waiting for a refresh."""
    ids = [f"p{number:02}" for number in range(30)]
    put(client, index, *ids)
    feed = Changes(client, index)
    assert read(feed) == ids
    assert read(feed) == []
    put(client, index, "p07", "p31", "p07")
    assert read(feed) == ["p07", "p31"]
    assert read(feed) == []


def test_what_is_written_while_it_is_read_comes_next_time(client: Client, index: str) -> None:
    """So that a pass ends, however much is written."""
    ids = [f"p{number:02}" for number in range(12)]
    put(client, index, *ids)
    feed = Changes(client, index)
    seen: list[str] = []
    for page in feed:
        seen += page
        put(client, index, f"late-{len(seen):02}")
    assert sorted(seen) == ids
    late = read(feed)
    assert late
    assert all(each.startswith("late") for each in late)


def test_deleted_papers_are_found_by_comparison(client: Client, index: str) -> None:
    """Also where an id is too long to be the document's own."""
    copy = index.replace("000001", "000002")
    client.call("PUT", f"/{copy}", {"settings": {"number_of_replicas": 0}, "mappings": NESTED})
    ids = [f"p{number}" for number in range(9)] + ["x" * 600]
    for each in (index, copy):
        put(client, each, *ids)
    assert list(surplus(client, copy, index)) == []
    for gone in ("p3", "x" * 600):
        client.call("DELETE", f"/{index}/_doc/{document_id(gone)}")
    assert sorted(paper_id for page in surplus(client, copy, index) for paper_id in page) == ["p3", "x" * 600]
    assert (count(client, index), count(client, copy)) == (8, 10)


def test_an_empty_index_has_no_changes(client: Client, index: str) -> None:
    feed: Any = Changes(client, index)
    assert read(feed) == []
    put(client, index, "p")
    assert read(feed) == ["p"]
