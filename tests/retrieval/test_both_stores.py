"""The whole search path on both stores: the same answers, whichever is behind it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from sciret.connector import queries as bodies
from sciret.connector.address import Address
from sciret.connector.client import connect
from sciret.connector.store import OpenSearchStore
from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper, EncodedQuery, Vector
from sciret.encoders.encoder import Encoder
from sciret.encoders.query import paper_as_query
from sciret.hit import Hit
from sciret.mappings.options import IndexOptions
from sciret.paper import Paper
from sciret.retrieval.keyphrases import stored_keyphrases
from sciret.retrieval.queries import open_paper
from sciret.retrieval.search import SearchOptions, search
from sciret.sources.reader import open_source
from sciret.store import Channel, Condition, Scope, Store

from .conftest import REEFS

CORPUS = Path(__file__).parents[2] / "examples" / "corpus.jsonl"
QUERIES = CORPUS.with_name("queries.jsonl")
ONE_NODE = IndexOptions(replicas=0)


@dataclass(frozen=True)
class Both:
    """The example corpus in each store, and queries of every kind."""

    embedded: EmbeddedStore
    exact: OpenSearchStore
    quick: OpenSearchStore
    queries: Sequence[EncodedQuery]


@pytest.fixture(scope="module")
def names(opensearch: Any) -> Iterator[Callable[[], str]]:
    """Aliases of this module's own; their indices are gone after it."""
    prefix = f"both-{uuid4().hex[:8]}"
    numbers = count()
    yield lambda: f"{prefix}-{next(numbers)}"
    client = connect(Address.parse(f"{opensearch.url}/{prefix}"))
    client.call("DELETE", f"/{prefix}-*")
    client.call("DELETE", f"/_index_template/sciret-{prefix}-*")
    client.close()


@pytest.fixture(scope="module")
def both(
    encoder: Encoder, opensearch: Any, tmp_path_factory: pytest.TempPathFactory, names: Callable[[], str]
) -> Iterator[Both]:
    with _filled(encoder, opensearch.url, tmp_path_factory.mktemp("both"), names()) as filled:
        yield filled


@pytest.fixture(scope="module")
def both_learned(
    sparse_encoder: Encoder, opensearch: Any, tmp_path_factory: pytest.TempPathFactory, names: Callable[[], str]
) -> Iterator[Both]:
    """By a model with learned sparse features."""
    with _filled(sparse_encoder, opensearch.url, tmp_path_factory.mktemp("learned"), names(), REEFS) as filled:
        yield filled


@contextmanager
def _filled(encoder: Encoder, url: str, folder: Path, name: str, more: Sequence[Paper] = ()) -> Iterator[Both]:
    records = [*more, *(record for record in open_source(str(CORPUS)) if isinstance(record, Paper))]
    papers = list(encoder.encode_papers(records))
    address = Address.parse(f"{url}/{name}")
    with (
        EmbeddedStore.open(folder / "papers.db", create=True) as embedded,
        OpenSearchStore.open(address, create=True, exact=True, options=ONE_NODE) as exact,
        OpenSearchStore.open(address, create=True, options=ONE_NODE) as quick,
    ):
        for store in (embedded, exact):
            store.write(papers)
        # An index that has seen updates has other statistics than a new one, and the same papers must score the same.
        exact.write(papers[::3])
        yield Both(embedded, exact, quick, list(_queries(encoder, papers)))


def _queries(encoder: Encoder, papers: Sequence[EncodedPaper]) -> Iterator[EncodedQuery]:
    """30 texts (questions, then sentences of papers), 10 whole papers, 10 times some sentences of a paper."""
    records = [json.loads(line) for line in QUERIES.read_text(encoding="utf-8").splitlines()]
    texts = [record["text"] for record in records if "text" in record] + [paper.sentences[-1] for paper in papers]
    yield from (encoder.encode_query(text) for text in texts[:30])
    long = [paper for paper in papers if len(paper.sentences) >= 4]
    yield from (paper_as_query(paper) for paper in long[:10])
    yield from (paper_as_query(paper, sentences=(2, 3)) for paper in long[20:30])


OPTIONS = {
    "defaults": SearchOptions(),
    "tfidf": SearchOptions(sparse="tfidf", lambda_=0.5, candidates=20),
    "dense": SearchOptions(sparse=None, rerank="none", candidates=15),
    "words": SearchOptions(lambda_=0.0, rerank="single", candidates=15),
    "filtered": SearchOptions(scope=Scope(where=(Condition.parse("year>=2010"),)), candidates=15),
    "everything": SearchOptions(scope=Scope(restricted=True), rerank="attention", candidates=15),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_exact_settings_give_the_same_ten_hits(both: Both, name: str) -> None:
    """Of 50 queries of every kind (a third of them with settings that are not the default): ids, scores, reasons."""
    assert len(both.queries) == 50
    _assert_same_hits(both, both.queries if name == "defaults" else both.queries[::3], OPTIONS[name])


LEARNED = {
    "fused": SearchOptions(sparse="casper"),
    "alone": SearchOptions(sparse="casper", lambda_=0.0, rerank="none", candidates=15),
    "concepts": SearchOptions(sparse="casper", beta=2.0, lambda_=0.2, candidates=15),
    "both": SearchOptions(sparse="both"),
    "both alone": SearchOptions(sparse="both", lambda_=0.0, rerank="none", candidates=15),
    "filtered": SearchOptions(sparse="casper", scope=Scope(where=(Condition.parse("keyphrase=Enzyme"),))),
}


@pytest.mark.parametrize("name", LEARNED)
def test_learned_features_give_the_same_ten_hits(both_learned: Both, name: str) -> None:
    _assert_same_hits(both_learned, both_learned.queries[::3], LEARNED[name])
    assert search(both_learned.exact, both_learned.queries[0], LEARNED[name])


def test_the_server_finds_what_exact_sums_find(both_learned: Both) -> None:
    """Its weights have nine bits, so of papers that are nearly equal another one may be the last."""
    for name in ("fused", "both"):
        assert _recall(both_learned.quick, both_learned.embedded, both_learned.queries, LEARNED[name]) >= 0.98


def test_a_paper_has_the_same_keyphrases(both: Both) -> None:
    """Present and absent ones: both stores keep the text and the weights that they are found by."""
    ids = [paper.id for paper in open_source(str(CORPUS)) if isinstance(paper, Paper)][::4]
    for paper_id in ids:
        mine, theirs = (
            stored_keyphrases(open_paper(store, paper_id, restricted=True), 10) for store in (both.exact, both.embedded)
        )
        assert mine.present
        for left, right in ((mine.present, theirs.present), (mine.absent, theirs.absent)):
            assert list(left) == list(right)
            assert dict(left) == pytest.approx(dict(right), abs=1e-4)


def _assert_same_hits(both: Both, queries: Sequence[EncodedQuery], options: SearchOptions) -> None:
    for query in queries:
        mine, theirs = search(both.exact, query, options), search(both.embedded, query, options)
        assert [hit.paper for hit in mine] == [hit.paper for hit in theirs]
        for left, right in zip(mine, theirs, strict=True):
            assert left.score == pytest.approx(right.score, abs=1e-4)
            assert left.parts == pytest.approx(right.parts, abs=1e-4)
            assert left.why.terms == pytest.approx(right.why.terms, abs=1e-4)
            assert left.why.keyphrases == pytest.approx(right.why.keyphrases, abs=1e-4)
            assert left.keyphrases == right.keyphrases
            assert [m.paper_text for m in left.why.sentences] == [m.paper_text for m in right.why.sentences]


def test_the_graph_of_the_corpus_misses_next_to_nothing(both: Both) -> None:
    """Recall@10 against exact candidates, with the defaults and with few candidates."""
    for options in (SearchOptions(), SearchOptions(candidates=10)):
        assert _recall(both.quick, both.embedded, both.queries, options) >= 0.98


def test_the_graph_of_thousands_of_vectors_misses_next_to_nothing(
    opensearch: Any, tmp_path: Path, names: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors in clusters, as those of papers are, and queries near to them; also where a filter admits a tenth."""
    rng = np.random.default_rng(11)
    dims, model = 64, "m" * 64
    centres = rng.standard_normal((60, dims))

    def near(count: int) -> Vector:
        rows = centres[rng.integers(0, len(centres), count)] + 0.7 * rng.standard_normal((count, dims))
        unit: Vector = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    papers = [
        EncodedPaper(Paper(f"p{i}", f"paper {i}", year=2000 + i % 10), model, vector, (f"paper {i}",), (), vector[None])
        for i, vector in enumerate(near(3000))
    ]
    queries = [EncodedQuery("unheard", model, vector, ("unheard",), vector[None]) for vector in near(50)]
    tenth = Scope(where=(Condition.parse("year=2004"),))
    with (
        EmbeddedStore.open(tmp_path / "papers.db", create=True) as embedded,
        OpenSearchStore.open(f"{opensearch.url}/{names()}", create=True, options=ONE_NODE) as quick,
    ):
        for store in (embedded, quick):
            for start in range(0, len(papers), 1000):
                store.write(papers[start : start + 1000])
        # Small segments are searched without a graph.
        quick.client.call("POST", f"/{quick.client.path}/_forcemerge", params={"max_num_segments": 1})

        def recall(channel: Channel, scope: Scope) -> float:
            both = [[store.candidates(query, [channel], 10, scope) for store in (embedded, quick)] for query in queries]
            return float(np.mean([len({*best} & {*found}) / 10 for best, found in both]))

        for channel in ("dense", "sentence"):
            assert recall(channel, Scope()) >= 0.98
            assert recall(channel, tenth) >= 0.98
        monkeypatch.setattr(bodies, "EF_SEARCH", 10)
        assert recall("dense", Scope()) < 1  # it is a graph, and this is what it misses when it is given no room


@pytest.mark.parametrize("which", ["embedded", "exact", "quick"])
def test_pages_are_parts_of_one_ranking(both: Both, which: str) -> None:
    """Page by page the same hits with the same ranks as all at once, whatever the size of a page."""
    store: Store = getattr(both, which)
    for query in both.queries[:3]:
        whole = search(store, query, SearchOptions(k=30, candidates=60))
        for size in (7, 10):
            pages = [
                hit
                for start in range(0, 30, size)
                for hit in search(store, query, SearchOptions(k=size, from_=start, candidates=60))
            ]
            assert [(hit.rank, hit.paper.id) for hit in pages[:30]] == [(hit.rank, hit.paper.id) for hit in whole]


@pytest.mark.parametrize("which", ["embedded", "exact", "quick"])
def test_a_page_behind_the_candidates_asks_for_more(both: Both, which: str) -> None:
    found = search(getattr(both, which), both.queries[0], SearchOptions(k=5, from_=40, candidates=10))
    assert [hit.rank for hit in found] == [41, 42, 43, 44, 45]
    behind = search(getattr(both, which), both.queries[0], SearchOptions(k=5, from_=500, candidates=10))
    assert behind == []


def _recall(quick: Store, exact: Store, queries: Sequence[EncodedQuery], options: SearchOptions) -> float:
    """Share of the ten best that the graph found too."""
    shares = []
    for query in queries:
        best = _ids(search(exact, query, options))
        shares.append(len(best & _ids(search(quick, query, options))) / len(best))
    return float(np.mean(shares))


def _ids(hits: Sequence[Hit]) -> set[str]:
    return {hit.paper.id for hit in hits}
