"""What is particular to a Store on a server: round trips, long queries, whose index it is, and who else is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sciret.connector import queries
from sciret.connector.address import Address
from sciret.connector.client import Client, connect
from sciret.connector.failures import MissingIndexError
from sciret.connector.store import OpenSearchStore
from sciret.encoded import EncodedPaper, EncodedQuery, Vector
from sciret.encoders.query import paper_as_query
from sciret.errors import PapersRefusedError, QueryError, StoreError, WrongModelError
from sciret.mappings.options import IndexOptions
from sciret.paper import Paper
from sciret.retrieval.search import SearchOptions, channels, search
from sciret.store import CHANNELS, LEXICAL, Condition, Scope

DIMS = 8
ONE_NODE = IndexOptions(replicas=0)
Open = Callable[..., OpenSearchStore]


@pytest.fixture(params=["opensearch", "opensearch_2"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture
def address(server: Any, unique_name: Callable[[], str]) -> Address:
    return Address.parse(f"{server.url}/{unique_name()}")


@pytest.fixture
def open_store(address: Address) -> Iterator[Open]:
    opened: list[OpenSearchStore] = []

    def open_(**options: Any) -> OpenSearchStore:
        given = {"create": True, "options": ONE_NODE, "today": lambda: date(2024, 6, 1), **options}
        opened.append(OpenSearchStore.open(given.pop("address", address), **given))
        return opened[-1]

    yield open_
    for store in opened:
        store.close()


@pytest.fixture
def client(address: Address) -> Iterator[Client]:
    connected = connect(address)
    yield connected
    connected.close()


def vectors(count: int, seed: int = 0) -> Vector:
    rows = np.random.default_rng(seed).standard_normal((count, DIMS)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)  # type: ignore[no-any-return]


def paper(paper_id: str, text: str = "some words", model: str = "m", **fields: Any) -> EncodedPaper:
    rows = vectors(3, seed=sum(map(ord, paper_id)))
    return EncodedPaper(
        Paper(paper_id, text, **fields), model, rows[0], ("One.", "Two."), ("method", "result"), rows[1:]
    )


def query(text: str = "some words", **parts: Any) -> EncodedQuery:
    rows = vectors(3, seed=99)
    return replace(EncodedQuery(text, "m", rows[0], ("A?", "B?"), rows[1:]), **parts)


@pytest.mark.parametrize("exact", [False, True])
def test_a_search_is_two_round_trips(open_store: Open, monkeypatch: pytest.MonkeyPatch, exact: bool) -> None:
    """Whatever the channels, and hits are shown without asking again. Exact candidates cost one more."""
    papers = [paper(f"p{i}", f"words {i % 7}", access="open") for i in range(40)]
    open_store().write([replace(each, tokens={"word": 1.0 + i % 7}) for i, each in enumerate(papers)])
    store = open_store(exact=exact)
    searches = {
        "text": (query("words 3 4"), SearchOptions()),
        "tfidf": (query("words 3 4"), SearchOptions(sparse="tfidf")),
        "casper": (query("words 3 4", tokens={"word": 1.0}), SearchOptions(sparse="casper")),
        "both": (query("words 3 4", tokens={"word": 1.0}), SearchOptions(sparse="both")),
        "aspect": (replace(query("words 3"), like="p3", chosen=(1, 2)), SearchOptions()),
        "chosen": (query("words"), SearchOptions(scope=Scope(ids=("p1", "p2")))),
    }
    assert store.model == "m"
    requests = _count_requests(store, monkeypatch)
    for name, (asked, options) in searches.items():
        requests.clear()
        hits = search(store, asked, options)
        assert len(hits) >= 2
        more = {"casper": 2, "both": 3}.get(name, 1)  # the server knows weights only roughly: others might be better
        assert len(requests) <= (2 + more if exact else 2), (name, requests)


def test_a_query_may_have_thousands_of_words(open_store: Open) -> None:
    """More than the server takes as clauses: the most selective find the best paper, and all of them score it."""
    rng = np.random.default_rng(8)
    rare, usual = [f"rare{i}" for i in range(40)], [f"usual{i}" for i in range(2960)]
    texts = {f"p{i}": rng.choice(usual, 60, replace=False).tolist() for i in range(200)}
    texts["best"] = [*rare, *usual[:20]]
    quick, exact = open_store(), open_store(exact=True)
    quick.write([paper(paper_id, " ".join(words)) for paper_id, words in texts.items()])
    asked = query(" ".join([*usual, *rare]))
    for sparse in LEXICAL:
        assert quick.candidates(asked, [sparse], 20, Scope())[0] == "best"
    completed = exact.complete(asked, list(texts), "bm25", sentences=False)
    known = {word for words in texts.values() for word in words}
    assert len(completed.terms) == len(known) > 2500
    assert completed.contributions.shape == (len(texts), len(known))
    ranked = [paper_id for _, paper_id in sorted(zip(-completed.sparse, completed.ids, strict=True))]
    found = exact.candidates(asked, ["bm25"], 20, Scope())
    assert found[0] == "best"
    assert len(set(found) & set(ranked[:20])) >= 19  # float32 on the way may tell two equals apart


def test_a_paper_with_a_long_abstract_is_a_query(open_store: Open) -> None:
    """`--like`: all of its words, none of itself."""
    store = open_store()
    rng = np.random.default_rng(2)
    vocabulary = [f"term{i}" for i in range(4000)]
    store.write([paper(f"p{i}", "t", abstract=" ".join(rng.choice(vocabulary, 2500))) for i in range(12)])
    stored = store.get(["p5"])["p5"]
    hits = search(store, paper_as_query(stored), SearchOptions(k=5))
    assert len(hits) == 5
    assert "p5" not in {hit.paper.id for hit in hits}
    assert all(hit.parts["sparse"] > 0 for hit in hits)


def test_the_default_finds_what_exact_scores_find(open_store: Open) -> None:
    """On an index this small the graphs miss nothing, with filters and on every channel."""
    quick, exact = open_store(), open_store(exact=True)
    rng = np.random.default_rng(4)
    papers = [paper(f"p{i}", f"a{rng.integers(9)} b{rng.integers(9)} c{i}", year=1990 + i % 20) for i in range(200)]
    quick.write([replace(each, tokens={word: rng.uniform() for word in each.paper.title.split()}) for each in papers])
    asked = query("a3 b4 c77", tokens={"a3": 1.0, "b4": 0.5, "c77": 2.0})
    for channel in CHANNELS:
        for scope in (Scope(), Scope(where=(Condition.parse("year>=2005"),))):
            mine = quick.candidates(asked, [channel], 20, scope)
            assert set(mine) >= set(exact.candidates(asked, [channel], 5, scope))


def test_without_nested_sentences_the_others_propose(open_store: Open) -> None:
    """There is no `sentence` channel, a search for an aspect leaves it out, and still compares sentences."""
    store = open_store(options=replace(ONE_NODE, sentences=False))
    store.write([paper(f"p{i}") for i in range(10)])
    assert "sentence" not in store.channels
    asked = replace(query(), like="p3", chosen=(1, 2))
    assert channels(asked, SearchOptions(), store.channels) == ["bm25", "dense"]
    hits = search(open_store(options=ONE_NODE), asked, SearchOptions(k=3))
    assert len(hits) == 3
    assert all("rerank" in hit.parts and hit.why.sentences for hit in hits)


def test_of_two_who_begin_at_once_both_write(open_store: Open, client: Client) -> None:
    """One makes the index, the other finds it: one index, one alias, all papers."""
    stores = [open_store() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        written = pool.map(lambda numbered: numbered[1].write([paper(f"p{numbered[0]}")]), enumerate(stores))
    assert list(written) == [1, 1, 1, 1]
    assert set(client.call("GET", f"/{client.path}/_alias")) == {f"{client.address.alias}-000001"}
    assert set(stores[0].get([f"p{i}" for i in range(4)])) == {f"p{i}" for i in range(4)}


def test_of_two_models_at_once_one_is_refused(open_store: Open) -> None:
    stores = {"m": open_store(), "n": open_store()}

    def write(model: str) -> str:
        try:
            stores[model].write([paper(model, model=model)])
        except WrongModelError:
            return "refused"
        return "written"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(write, stores)) == ["refused", "written"]


def test_an_index_that_is_not_there_is_an_error_unless_it_may_be_made(open_store: Open, address: Address) -> None:
    with pytest.raises(MissingIndexError, match=rf"no index '{address.alias}'.*`sciret ingest` makes one"):
        open_store(create=False)
    open_store(create=True).write([paper("p")])
    assert open_store(create=False).model == "m"


def test_an_index_of_others_is_left_alone(open_store: Open, client: Client, address: Address) -> None:
    """Neither searched nor written to; the message says what can be done with it."""
    client.call("PUT", f"/{address.alias}-theirs", {"aliases": {address.alias: {}}})
    with pytest.raises(StoreError, match="not made by sciret: `sciret attach`"):
        open_store()


def test_an_index_of_a_newer_sciret_is_left_alone(open_store: Open, client: Client, address: Address) -> None:
    meta = {"sciret": {"schema": 2, "model": "m"}}
    client.call("PUT", f"/{address.alias}-next", {"aliases": {address.alias: {}}, "mappings": {"_meta": meta}})
    with pytest.raises(StoreError, match="has schema 2, this sciret knows 1: upgrade"):
        open_store()


def test_an_alias_of_two_indices_is_no_store(open_store: Open, client: Client, address: Address) -> None:
    for name in ("one", "two"):
        client.call("PUT", f"/{address.alias}-{name}", {"aliases": {address.alias: {}}})
    with pytest.raises(StoreError, match="stands for 2 indices"):
        open_store()


def test_another_model_behind_the_alias_is_noticed(
    open_store: Open, client: Client, address: Address, server: Any
) -> None:
    """The very search that meets it is refused with both fingerprints, and so is every one after it."""
    store = open_store()
    store.write([paper(f"p{i}") for i in range(3)])
    assert len(search(store, query(), SearchOptions())) == 3
    other = OpenSearchStore.open(f"{server.url}/{address.alias}-b", create=True, options=ONE_NODE)
    other.write([paper(f"p{i}", model="n") for i in range(3)])
    other.close()
    _swap(client, address.alias, f"{address.alias}-b-000001")
    for _ in range(2):
        with pytest.raises(WrongModelError) as caught:
            search(store, query(), SearchOptions())
        assert {caught.value.stored, caught.value.given} == {"n", "m"}
    with pytest.raises(WrongModelError):
        store.write([paper("p9")])
    assert store.model == "n"


def test_vectors_of_another_length_behind_the_alias_are_noticed(
    open_store: Open, client: Client, address: Address, server: Any
) -> None:
    """The server refuses such a query; what is said is why."""
    store = open_store()
    store.write([paper("p")])
    assert store.model == "m"
    other = OpenSearchStore.open(f"{server.url}/{address.alias}-b", create=True, options=ONE_NODE)
    other.write([EncodedPaper(Paper("p", "some words"), "n", np.ones(4, np.float32), ("x",))])
    other.close()
    _swap(client, address.alias, f"{address.alias}-b-000001")
    with pytest.raises(WrongModelError):
        search(store, query(), SearchOptions())


def test_the_same_model_in_a_new_index_is_no_interruption(
    open_store: Open, client: Client, address: Address, server: Any
) -> None:
    """A migration swaps the alias: searches go on, and find what is there now."""
    store = open_store()
    store.write([paper("old")])
    other = OpenSearchStore.open(f"{server.url}/{address.alias}-b", create=True, options=ONE_NODE)
    other.write([paper("new")])
    other.close()
    assert [hit.paper.id for hit in search(store, query(), SearchOptions())] == ["old"]
    _swap(client, address.alias, f"{address.alias}-b-000001")
    assert [hit.paper.id for hit in search(store, query(), SearchOptions())] == ["new"]
    store.write([paper("newer")])
    assert set(store.get(["old", "new", "newer"])) == {"new", "newer"}


def test_an_emptied_store_takes_another_model_but_no_other_vectors(open_store: Open) -> None:
    """The field of an index has one length; another needs another index."""
    store = open_store()
    store.write([paper("p")])
    store.delete(["p"])
    assert store.model is None
    with pytest.raises(StoreError, match="4 numbers where the store has 8"):
        store.write([EncodedPaper(Paper("p", "t"), "n", np.ones(4, np.float32), ("x",))])
    store.write([paper("p", model="n")])
    assert store.model == "n"


def test_vectors_may_come_later_than_papers(open_store: Open) -> None:
    """An index that was made for bare records gets their fields with the first vector."""
    store = open_store()
    store.write([EncodedPaper(Paper("bare", "some words"), "m", sentences=("x",))])
    assert tuple(store.candidates(query(), ["dense", "sentence"], 5, Scope())) == ()
    store.write([paper("p")])
    assert tuple(store.candidates(query(), ["dense"], 5, Scope())) == ("p",)
    assert tuple(store.candidates(query(), ["sentence"], 5, Scope())) == ("p",)
    assert store.stats()["dims"] == DIMS


def test_without_refresh_papers_are_kept_and_found_after_closing(open_store: Open) -> None:
    """Reading by id sees them at once."""
    store = open_store(refresh=False)
    store.write([paper("p")])
    assert set(store.get(["p"])) == {"p"}
    assert store.hashes(["p"])
    store.close()
    assert tuple(open_store().candidates(query(), ["bm25"], 5, Scope())) == ("p",)


def test_another_store_sees_what_was_written_and_deleted(open_store: Open) -> None:
    first, second = open_store(), open_store()
    assert second.model is None
    first.write([paper("p"), paper("q")])
    assert second.model == "m"
    assert set(second.candidates(query(), ["bm25"], 5, Scope())) == {"p", "q"}
    assert second.delete(["p"]) == 1
    assert first.complete(query(), ["p", "q"], "bm25", sentences=True).ids == ("q",)


def test_more_candidates_than_a_server_returns_are_refused(open_store: Open) -> None:
    store = open_store()
    store.write([paper("p")])
    assert tuple(store.candidates(query(), ["dense"], queries.DEEPEST, Scope())) == ("p",)
    with pytest.raises(QueryError, match="at most 10,000"):
        store.candidates(query(), ["dense"], queries.DEEPEST + 1, Scope())


def test_papers_that_the_server_refuses_are_named(open_store: Open, client: Client) -> None:
    """The others of the batch are written, and the caller is told which were not."""
    store = open_store()
    store.write([paper("p")])
    client.call("PUT", f"/{client.path}/_settings", {"index": {"mapping.nested_objects.limit": 1}})
    with pytest.raises(PapersRefusedError) as caught:
        store.write([replace(paper("fine"), sentences=("One.",), sentence_vectors=vectors(1)), paper("bad")])
    assert set(caught.value.refused) == {"bad"}
    assert set(store.get(["fine", "bad"])) == {"fine"}
    assert "fine" in store.candidates(query(), ["bm25"], 5, Scope())


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(extra=st.dictionaries(TEXT, JSON, max_size=4), texts=st.lists(TEXT, min_size=6, max_size=6))
def test_any_record_comes_back_from_a_server(open_store: Open, extra: dict[str, Any], texts: list[str]) -> None:
    """Fields with dots, empty names, huge numbers, dates that are none: the index makes of them what it can, and the
    record stays as it was."""
    record = Paper(
        "p",
        texts[0] or "t",
        texts[1],
        sentences=tuple(texts[:2]),
        keywords=tuple(texts),
        date=texts[2] or None,
        embargo_end=texts[3] or None,
        venue=texts[4] or None,
        extra=extra,
    )
    with open_store() as store:
        store.write([EncodedPaper(record, "m", sentences=("x",))])
        assert store.get(["p"])["p"].paper == record
        assert store.complete(query(), ["p"], "bm25", sentences=True).load(0).paper == record


def _count_requests(store: OpenSearchStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    transport = store.client.api.transport
    seen: list[str] = []
    perform = transport.perform_request

    def counted(method: str, url: str, *arguments: Any, **options: Any) -> Any:
        seen.append(f"{method} {url}")
        return perform(method, url, *arguments, **options)

    monkeypatch.setattr(transport, "perform_request", counted)
    return seen


def _swap(client: Client, alias: str, index: str) -> None:
    (current,) = client.call("GET", f"/_alias/{alias}")
    actions = [{"remove": {"index": current, "alias": alias}}, {"add": {"index": index, "alias": alias}}]
    client.call("POST", "/_aliases", {"actions": actions})
