"""Papers inside the documents of somebody else's index: found as in a store of our own, and nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import product
from typing import Any, Protocol

import numpy as np
import pytest

from sciret.connector.address import Address
from sciret.connector.client import Client, connect
from sciret.connector.existing import inspect
from sciret.connector.identity import InPlaceError
from sciret.connector.in_place import InPlaceStore, check_in_place
from sciret.connector.store import OpenSearchStore
from sciret.encoded import EncodedPaper, EncodedQuery, Vector
from sciret.errors import StoreError, WrongModelError
from sciret.mappings.options import IndexOptions
from sciret.paper import Paper
from sciret.store import Channel, Condition, Scope

MODEL, DIMS = "a" * 64, 16
WORDS = ["moss", "peat", "water", "carbon", "root", "fungus", "light", "soil", "seed", "leaf"]
ALL = Scope(restricted=True)
CHANNELS: tuple[Channel, ...] = ("bm25", "tfidf", "casper", "dense")


class Server(Protocol):
    @property
    def url(self) -> str: ...


Make = Callable[..., Client]


@pytest.fixture(params=["opensearch"])
def server(request: pytest.FixtureRequest) -> Server:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


@pytest.fixture
def library(server: Server, unique_name: Callable[..., str]) -> Iterator[Make]:
    """An index of thirty documents, as another application would have made it."""
    with ExitStack() as opened:

        def make(*, knn: bool = False, **mapping: Any) -> Client:
            client = connect(Address.parse(f"{server.url}/{unique_name('library')}"))
            opened.callback(client.close)
            settings = {"number_of_shards": 2, "number_of_replicas": 0, "index.knn": knn}
            properties = {"titel": {"type": "text"}, "shelf": {"type": "keyword"}, "pages": {"type": "integer"}}
            mappings = {"dynamic": "strict", "_meta": {"owner": "library"}, "properties": properties, **mapping}
            client.call("PUT", f"/{client.path}", {"settings": settings, "mappings": mappings})
            lines = [
                line
                for number in range(30)
                for line in (json.dumps({"index": {"_id": f"p{number}"}}), document(number))
            ]
            answer = client.call("POST", f"/{client.path}/_bulk", "\n".join(lines) + "\n", params={"refresh": "true"})
            assert not answer["errors"]
            return client

        yield make


def document(number: int) -> str:
    return json.dumps({"titel": f"{WORDS[number % 10]} {number}", "shelf": f"S{number % 4}", "pages": 100 + number})


@pytest.fixture
def open_in_place() -> Iterator[Callable[..., InPlaceStore]]:
    with ExitStack() as opened:

        def make(client: Client, **options: Any) -> InPlaceStore:
            store = InPlaceStore.open(client.address, create=True, **options)
            assert isinstance(store, InPlaceStore)
            return opened.enter_context(store)  # type: ignore[return-value]

        yield make


def encoded(number: int, rng: np.random.Generator, **fields: Any) -> EncodedPaper:
    words = rng.choice(WORDS, 12).tolist()
    paper = Paper(f"p{number}", " ".join(words[:3]), " ".join(words[3:]), year=2000 + number, **fields)
    sentences = ("One.", "Two.")
    dense, rows = vectors(rng, 1)[0], vectors(rng, 2)
    tokens, keyphrases = {"a.b": 1.5 + number / 4}, {f"peat {number % 3}.": 2.0}
    return EncodedPaper(paper, MODEL, dense, sentences, ("method", "other"), rows, tokens, keyphrases)


def vectors(rng: np.random.Generator, count: int) -> Vector:
    rows = rng.standard_normal((count, DIMS)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)  # type: ignore[no-any-return]


def papers() -> list[EncodedPaper]:
    """Twenty of the thirty documents; two of them restricted."""
    rng = np.random.default_rng(3)
    return [encoded(n, rng, access="restricted" if n in (4, 5) else "open", venue=f"V{n % 3}") for n in range(20)]


def a_query(text: str = "moss carbon peat") -> EncodedQuery:
    rng = np.random.default_rng(9)
    dense, rows = vectors(rng, 1)[0], vectors(rng, 2)
    return EncodedQuery(text, MODEL, dense, (text,), rows, tokens={"a.b": 1.0}, keyphrases={"peat 1.": 3.0})


@pytest.mark.parametrize(
    ("server", "knn"), [("opensearch", False), ("opensearch", True), ("opensearch_2", True)], indirect=["server"]
)
def test_ranks_and_scores_are_those_of_a_store_of_our_own(
    library: Make, open_in_place: Callable[..., InPlaceStore], unique_name: Callable[..., str], knn: bool
) -> None:
    """By every channel, under conditions, with or without graphs of nearest neighbours in the index."""
    client = library(knn=knn)
    store, exact = open_in_place(client), open_in_place(client, exact=True)
    assert "casper" not in store.channels
    assert store.write(papers()) == 20
    assert set(store.channels) == set(open_in_place(client).channels) == set(CHANNELS)
    own = OpenSearchStore.open(
        f"{client.address.url}/{unique_name('own')}", create=True, exact=True, options=IndexOptions(replicas=0)
    )
    with own:
        own.write(papers())
        scopes = [
            ALL,
            Scope(),
            Scope((Condition("keyphrase", "=", "Peat 2."),)),
            Scope((Condition("venue", "!=", "v1"), Condition("year", ">", 2003))),
        ]
        for scope, channel in product(scopes, CHANNELS):
            found = own.candidates(a_query(), [channel], 8, scope)
            assert found
            assert exact.candidates(a_query(), [channel], 8, scope) == found
            if channel != "bm25":  # which goes by each shard's own statistics unless it is exact
                assert store.candidates(a_query(), [channel], 8, scope) == found
        assert len(store.candidates(a_query(), ["bm25"], 50, ALL)) == len(own.candidates(a_query(), ["bm25"], 50, ALL))
        ids = [f"p{n}" for n in range(30)]
        assert store.candidates(a_query(), CHANNELS, 5, replace(ALL, ids=tuple(ids))) == tuple(ids[:20])
        for sparse in ("tfidf", "casper", "both"):
            ours, theirs = (s.complete(a_query(), ids, sparse, sentences=True) for s in (store, own))
            assert ours.ids == theirs.ids
            for group in ("terms", "tokens", "keyphrases"):
                assert getattr(ours, group) == getattr(theirs, group)
            np.testing.assert_array_equal(ours.dense, theirs.dense)
            np.testing.assert_array_equal(ours.contributions, theirs.contributions)
            for left, right in zip(ours.sentence_vectors, theirs.sentence_vectors, strict=True):
                np.testing.assert_array_equal(left, right)
        assert ours.load(3).paper == theirs.load(3).paper == papers()[3].paper
        apart = {"index": None, "bytes": None}
        assert {**store.stats(), **apart} == {**own.stats(), **apart}


def test_papers_come_back_and_are_known_by_their_hash(
    library: Make, open_in_place: Callable[..., InPlaceStore]
) -> None:
    store = open_in_place(library())
    assert store.model is None
    assert store.hashes(["p1"]) == {}
    written = papers()
    store.write(written)
    assert store.model == MODEL
    assert store.hashes(["p1", "p25", "nowhere"]) == {"p1": written[1].paper.content_hash}
    (found,) = store.get(["p2", "p25"]).values()
    assert found.paper == written[2].paper
    assert (found.tokens, found.keyphrases) == ({"a.b": 2.0}, {"peat 2.": 2.0})
    assert found.roles == ("method", "other")


def test_a_new_version_replaces_the_old_one(library: Make, open_in_place: Callable[..., InPlaceStore]) -> None:
    """All of it: what the new one does not have is gone."""
    client = library()
    store = open_in_place(client)
    first = papers()[0]
    store.write([first])
    store.write([replace(first, tokens={"c": 2.0}, paper=replace(first.paper, year=None))])
    (found,) = store.get(["p0"]).values()
    assert found.tokens == {"c": 2.0}
    assert found.paper.year is None


QUESTIONS: tuple[dict[str, Any], ...] = (
    {"query": {"match": {"titel": "moss"}}, "sort": ["_score", "pages"]},
    {"query": {"match_all": {}}, "sort": ["pages"], "aggs": {"shelves": {"terms": {"field": "shelf"}}}},
    {"query": {"query_string": {"query": "carbon OR S2", "fields": ["titel", "shelf"]}}, "sort": ["pages"]},
    {"size": 0, "aggs": {"pages": {"stats": {"field": "pages"}}}},
)
"""What the application asks of its fields."""


def answers(client: Client) -> list[Any]:
    found = []
    for question in QUESTIONS:
        body = {"size": 50, "_source": {"excludes": ["sciret"]}, **question}
        answer = client.call("POST", f"/{client.path}/_search", body)
        hits = [(hit["_id"], hit["_source"]) for hit in answer["hits"]["hits"]]
        scores = [hit["_score"] or 0 for hit in answer["hits"]["hits"]]
        found.append((hits, scores, answer["hits"]["total"], answer.get("aggregations")))
    return found


def test_the_application_sees_what_it_saw(library: Make, open_in_place: Callable[..., InPlaceStore]) -> None:
    """The same hits in the same order, the same figures and documents.

    Lucene counts the old version of an updated document until it is cleared away: any update moves scores a little.
    """
    client = library()
    before = answers(client)
    documents = client.call("POST", f"/{client.path}/_search", {"size": 50, "sort": ["pages"]})["hits"]["hits"]
    store = open_in_place(client)
    store.write([replace(p, paper=replace(p.paper, title="zebra", abstract="S2 stripes")) for p in papers()])
    after = answers(client)
    for question, old, new in zip(QUESTIONS, before, after, strict=True):
        assert (new[0], new[2:]) == (old[0], old[2:]), question
        assert new[1] == pytest.approx(old[1], rel=0.05)
    for old in documents:
        assert client.call("GET", f"/{client.path}/_source/{old['_id']}") | {"sciret": 0} == old["_source"] | {
            "sciret": 0
        }
    (index,) = inspect(client).indices
    assert index.meta["owner"] == "library"
    assert index.mapping["dynamic"] == "strict"


def test_ingest_pipelines_of_the_application_do_not_run_again(
    library: Make, open_in_place: Callable[..., InPlaceStore]
) -> None:
    client = library()
    name = f"{client.address.alias}-stamp"
    stamp = {"processors": [{"set": {"field": "pages", "value": 0}}]}
    client.call("PUT", f"/_ingest/pipeline/{name}", stamp)
    client.call("PUT", f"/{client.path}/_settings", {"index": {"default_pipeline": name, "final_pipeline": name}})
    open_in_place(client).write(papers())
    assert client.call("GET", f"/{client.path}/_source/p7")["pages"] == 107
    client.call("PUT", f"/{client.path}/_settings", {"index": {"default_pipeline": None, "final_pipeline": None}})
    client.call("DELETE", f"/_ingest/pipeline/{name}")


def test_no_document_is_made_and_none_deleted(library: Make, open_in_place: Callable[..., InPlaceStore]) -> None:
    """A paper whose document is gone is left out; deleting a paper takes our part of its document away."""
    client = library()
    store = open_in_place(client)
    client.call("DELETE", f"/{client.path}/_doc/p1", params={"refresh": "true"})
    store.write(papers())
    assert client.call("GET", f"/{client.path}/_count")["count"] == 29
    assert "p1" not in store.get(["p0", "p1"])
    assert store.delete(["p0", "p0", "p25", "nowhere"]) == 1
    assert client.call("GET", f"/{client.path}/_source/p0") == json.loads(document(0))
    assert client.call("GET", f"/{client.path}/_count")["count"] == 29
    assert store.delete(["p0"]) == 0


def test_another_model_is_refused(library: Make, open_in_place: Callable[..., InPlaceStore]) -> None:
    store = open_in_place(library())
    store.write(papers())
    with pytest.raises(WrongModelError):
        store.write([replace(papers()[0], model="b" * 64)])


def test_a_store_of_our_own_does_not_touch_such_an_index(
    library: Make, open_in_place: Callable[..., InPlaceStore]
) -> None:
    """An ingest into it would replace the application's documents."""
    client = library()
    open_in_place(client).write(papers())
    with pytest.raises(InPlaceError, match="another application's index"):
        OpenSearchStore.open(client.address, create=True)


@pytest.mark.parametrize(
    ("mapping", "reason"),
    [
        ({"_source": {"excludes": ["titel"]}}, "_source leaves fields out"),
        ({"dynamic": "true", "properties": {"sciret": {"type": "keyword"}}}, "a field 'sciret'"),
        ({"_meta": {"sciret": {"schema": 1}}}, "a store of sciret already"),
    ],
)
def test_an_index_that_an_update_would_harm_is_refused(library: Make, mapping: Mapping[str, Any], reason: str) -> None:
    client = library(**mapping)
    with pytest.raises(StoreError, match=reason):
        check_in_place(client, inspect(client))


def test_vectors_without_graphs_need_a_server_that_bears_them(library: Make) -> None:
    """2.19 fails the shards of such an index whenever its mapping changes, whoever changes it."""
    client = library()
    client.server = replace(client.server, number="2.19.1")
    with pytest.raises(StoreError, match=r"without index\.knn.*sidecar"):
        check_in_place(client, inspect(client))
    client.server = replace(client.server, number="3.0.0")
    assert not check_in_place(client, inspect(client)).knn


def test_routed_documents_are_refused(library: Make) -> None:
    """They are not found by their id alone."""
    client = library()
    options = {"routing": "x", "refresh": "true"}
    client.call("PUT", f"/{client.path}/_doc/r", {"titel": "routed"}, params=options)
    with pytest.raises(StoreError, match=r"1 of its documents are routed.*sidecar"):
        check_in_place(client, inspect(client))


def test_an_alias_of_several_indices_is_refused(library: Make, unique_name: Callable[..., str]) -> None:
    clients: Sequence[Client] = (library(), library())
    alias = unique_name("both")
    actions = [{"add": {"index": client.address.alias, "alias": alias}} for client in clients]
    clients[0].call("POST", "/_aliases", {"actions": actions})
    both = connect(Address.parse(f"{clients[0].address.url}/{alias}"))
    try:
        with pytest.raises(StoreError, match="several indices"):
            check_in_place(both, inspect(both))
    finally:
        both.close()
