"""Reading somebody's index: everything once, only what was asked for, and on from where a reader stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from typing import Any, Protocol

import pytest
from opensearchpy.exceptions import TransportError

from sciret.connector.address import Address
from sciret.connector.client import Client, connect
from sciret.connector.existing import inspect
from sciret.connector.reader import Document, IndexReader, page_body, page_size
from sciret.errors import StoreError


class Server(Protocol):
    @property
    def url(self) -> str: ...


Make = Callable[..., Client]


@pytest.fixture
def library(opensearch: Server, unique_name: Callable[..., str]) -> Iterator[Make]:
    """Makes an index as somebody else would have, and connects to it."""
    opened: list[Client] = []

    def make(documents: int = 250, shards: int = 3, name: str | None = None, **mapping: Any) -> Client:
        client = connect(Address.parse(f"{opensearch.url}/{name or unique_name('library')}"))
        opened.append(client)
        settings = {"number_of_shards": shards, "number_of_replicas": 0}
        client.call("PUT", f"/{client.path}", {"settings": settings, "mappings": mapping})
        put(client, range(documents))
        return client

    yield make
    for client in opened:
        client.close()


def put(client: Client, numbers: range, title: str = "Title", index: str | None = None) -> None:
    lines = []
    for number in numbers:
        source = {"titel": f"{title} {number}", "pub": {"year": 2000 + number % 20}, "secret": "x" * 50}
        lines += [json.dumps({"index": {"_id": f"doc {number}/ä"}}), json.dumps(source)]
    if lines:
        answer = client.call(
            "POST", f"/{index or client.path}/_bulk", "\n".join(lines) + "\n", params={"refresh": "true"}
        )
        assert not answer["errors"]


def reader(client: Client, *fields: str, **options: Any) -> IndexReader:
    return IndexReader(client, inspect(client).parts, fields, **options)


def points_in_time(client: Client) -> int:
    return len(client.call("GET", "/_search/point_in_time/_all").get("pits", []))


def forget_points_in_time(client: Client) -> None:
    client.call("DELETE", "/_search/point_in_time/_all")


def test_every_document_is_read_once_with_the_fields_that_were_asked_for(library: Make) -> None:
    client = library()
    found = list(reader(client, "titel", "pub.year"))
    assert sorted(document.id for document in found) == sorted(f"doc {n}/ä" for n in range(250))
    assert all(set(document.source) == {"titel", "pub"} for document in found)
    seven = next(document for document in found if document.id == "doc 7/ä")
    assert seven == Document("doc 7/ä", client.address.alias, {"titel": "Title 7", "pub": {"year": 2007}})


def test_ids_only(library: Make) -> None:
    found = list(reader(library(10)))
    assert len(found) == 10
    assert all(document.source == {} for document in found)


def test_nested_documents_are_part_of_their_document(library: Make) -> None:
    """They have the number of the document that they are part of."""
    client = library(0, 1, properties={"people": {"type": "nested"}})
    for number in range(3):
        people = {"people": [{"name": "a"}, {"name": "b"}]}
        client.call("PUT", f"/{client.path}/_doc/{number}", people, params={"refresh": "true"})
    assert [document.id for document in reader(client, "people")] == ["0", "1", "2"]


def test_a_reader_goes_on_where_another_stopped(library: Make) -> None:
    """Nothing is missed and nothing comes twice."""
    client = library()
    first = reader(client, "titel", page_bytes=500)
    with closing(iter(first)) as documents:
        begun = [document.id for document in islice(documents, 90)]
    rest = [document.id for document in reader(client, "titel", positions=first.positions)]
    assert len(begun) == 90
    assert len(rest) == 160
    assert len({*begun, *rest}) == 250


def test_a_point_in_time_that_is_gone_is_opened_anew(library: Make) -> None:
    """As it is after minutes without a request: nothing is missed, and nothing comes twice."""
    client = library()
    found = []
    for number, document in enumerate(reader(client, "titel", page_bytes=500)):
        found.append(document.id)
        if number % 60 == 30:
            forget_points_in_time(client)
    assert len(found) == len(set(found)) == 250


def test_what_changes_meanwhile_comes_again(library: Make) -> None:
    """Whoever reads on has the last version of every document, also of those that were read before they changed."""
    client = library(200)
    first = reader(client, "titel", page_bytes=500)
    titles: dict[str, Any] = {}
    with closing(iter(first)) as documents:
        for document in islice(documents, 120):
            titles[document.id] = document.source["titel"]
    put(client, range(0, 60), "New title")
    put(client, range(200, 230))
    titles |= {each.id: each.source["titel"] for each in reader(client, "titel", positions=first.positions)}
    assert len(titles) == 230
    for number in range(230):
        assert titles[f"doc {number}/ä"] == f"{'New title' if number < 60 else 'Title'} {number}"


def test_an_alias_shows_what_it_shows_others(library: Make, unique_name: Callable[..., str]) -> None:
    """Several indices with different numbers of shards, and of one of them some documents only."""
    many, few = library(100, 3), library(40, 1)
    alias = unique_name("both")
    some = {"index": few.address.alias, "alias": alias, "filter": {"range": {"pub.year": {"lt": 2010}}}}
    actions = [{"add": {"index": many.address.alias, "alias": alias}}, {"add": some}]
    many.call("POST", "/_aliases", {"actions": actions})
    client = connect(Address.parse(f"{many.address.url}/{alias}"))
    found = list(reader(client, "pub"))
    client.close()
    assert [document.index for document in found].count(many.address.alias) == 100
    assert [document.index for document in found].count(few.address.alias) == 20
    assert len(found) == 120


def test_a_condition_of_ours(library: Make) -> None:
    client = library()
    found = reader(client, "pub.year", where={"range": {"pub.year": {"gte": 2015}}})
    assert {document.source["pub"]["year"] for document in found} == set(range(2015, 2020))


def test_points_in_time_are_given_back(library: Make) -> None:
    """Also those of a reader that stops early: they cost the cluster disk and memory."""
    client = library()
    before = points_in_time(client)
    list(reader(client, "titel"))
    with closing(iter(reader(client, "titel", page_bytes=500))) as documents:
        next(documents)
        assert points_in_time(client) > before
    assert points_in_time(client) == before


def test_a_busy_server_is_waited_for(library: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client = library(50)
    transport = client.api.transport
    perform, calls = transport.perform_request, iter(range(1000))

    def now_and_then(*args: Any, **options: Any) -> Any:
        if next(calls) % 3 == 1:
            raise TransportError(429, "rejected_execution_exception", {})
        return perform(*args, **options)

    found = reader(client, "titel", page_bytes=500)
    monkeypatch.setattr(transport, "perform_request", now_and_then)
    assert len(list(found)) == 50


def test_an_index_that_goes_away_is_said(library: Make) -> None:
    client = library(100)
    found = iter(reader(client, "titel", page_bytes=300))
    next(found)
    client.call("DELETE", f"/{client.path}")
    forget_points_in_time(client)
    with pytest.raises(StoreError, match="no index"):
        list(found)


def test_a_page_has_about_as_many_bytes_as_it_should() -> None:
    """One document at least, however long."""
    hits = [{"_id": "12345678", "_source": {"t": "x" * 81}}] * 4
    assert page_size(hits, 1000) == 10
    assert page_size(hits, 10) == 1
    assert page_size(hits, 10**9) == 2000


def test_a_page_is_behind_a_position() -> None:
    """Of the one index that its part is of, since an alias may have several."""
    from sciret.connector.existing import Part

    body = page_body("p", Part("library", "u", 0), 41, 10, ["a.b"], {"term": {"x": 1}})
    assert body["query"]["bool"]["filter"] == [
        {"term": {"_index": "library"}},
        {"range": {"_seq_no": {"gt": 41}}},
        {"term": {"x": 1}},
    ]
    assert body["_source"] == ["a.b"]
    assert page_body("p", Part("library", "u", 0), 41, 10, [], None)["_source"] is False
