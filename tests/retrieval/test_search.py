"""The search path on the real model and the embedded store."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sciret.embedded.store import EmbeddedStore
from sciret.encoders.encoder import Encoder
from sciret.encoders.query import paper_as_query
from sciret.errors import SettingsError, StoreError, WrongModelError
from sciret.paper import Paper
from sciret.retrieval.search import RERANK, SearchOptions, channels, search
from sciret.store import Condition, Scope

TEXT = "Do ocean heat waves destroy kelp and coral?"


def test_scores_are_the_sum_that_their_parts_say(store: EmbeddedStore, encoder: Encoder) -> None:
    """λ·dense + (1−λ)·sparse, then the sentence match with its weight."""
    options = SearchOptions(k=20, lambda_=0.6, rerank_weight=0.3)
    for hit in search(store, encoder.encode_query(TEXT), options):
        fused = 0.6 * hit.parts["dense"] + 0.4 * hit.parts["sparse"]
        assert hit.parts["fused"] == pytest.approx(fused, abs=1e-6)
        assert hit.score == pytest.approx(0.7 * fused + 0.3 * hit.parts["rerank"], abs=1e-6)


def test_fusion_ranks_every_candidate_by_both_sides(
    store: EmbeddedStore, encoder: Encoder, papers: list[Paper]
) -> None:
    """The ranking equals brute force over all papers, whatever few candidates each channel proposes."""
    query = encoder.encode_query(TEXT)
    options = SearchOptions(k=3, candidates=3, rerank="none")
    everything = replace(options, k=len(papers), candidates=len(papers))
    exact = {hit.paper.id: hit.score for hit in search(store, query, everything)}
    for hit in search(store, query, options):
        assert hit.score == pytest.approx(exact[hit.paper.id], abs=1e-9)


@pytest.mark.parametrize("rerank", RERANK)
def test_every_rerank_gives_ordered_hits(store: EmbeddedStore, encoder: Encoder, rerank: str) -> None:
    """Ranks count up, scores go down, and only the reranked say how their sentences matched."""
    options = SearchOptions(k=5, rerank=rerank)  # type: ignore[arg-type]  # the parameter is one of RERANK
    hits = search(store, encoder.encode_query(TEXT), options)
    assert [hit.rank for hit in hits] == [1, 2, 3, 4, 5]
    assert all(a.score >= b.score for a, b in pairwise(hits))
    assert all(bool(hit.why.sentences) == (rerank != "none") for hit in hits)


def test_dense_alone_and_sparse_alone_are_the_ends_of_lambda(store: EmbeddedStore, encoder: Encoder) -> None:
    """λ = 1 is the dense cosine, λ = 0 the sparse score, and `none` leaves the sparse side out."""
    query = encoder.encode_query(TEXT)
    for hit in search(store, query, SearchOptions(lambda_=1, rerank="none")):
        assert hit.score == pytest.approx(hit.parts["dense"])
    for hit in search(store, query, SearchOptions(sparse=None, lambda_=0.3, rerank="none")):
        assert hit.score == pytest.approx(hit.parts["dense"])
    for hit in search(store, query, SearchOptions(lambda_=0, rerank="none")):
        assert hit.score == pytest.approx(hit.parts["sparse"])
        assert sum(hit.why.terms.values()) == pytest.approx(1)


def test_papers_that_are_not_open_stay_hidden(store: EmbeddedStore, encoder: Encoder, papers: list[Paper]) -> None:
    """Unless the search is told to show restricted ones."""
    hidden = {paper.id for paper in papers if not paper.is_searchable()}
    assert hidden
    query = encoder.encode_query("research")
    default = SearchOptions(k=len(papers))
    assert hidden.isdisjoint(hit.paper.id for hit in search(store, query, default))
    shown = search(store, query, replace(default, scope=Scope(restricted=True)))
    assert hidden <= {hit.paper.id for hit in shown}


def test_conditions_narrow_the_answer(store: EmbeddedStore, encoder: Encoder) -> None:
    """Every hit fulfils them all."""
    scope = Scope(where=(Condition.parse("year>=2015"), Condition.parse("collections=neuroscience")))
    hits = search(store, encoder.encode_query(TEXT), SearchOptions(scope=scope))
    assert hits
    assert all((hit.paper.year or 0) >= 2015 and "neuroscience" in hit.paper.collections for hit in hits)


def test_a_paper_is_not_its_own_hit_unless_it_is_a_candidate(store: EmbeddedStore, papers: list[Paper]) -> None:
    """With candidates all of them are ranked, the paper itself first."""
    stored = store.get([papers[0].id])[papers[0].id]
    query = paper_as_query(stored)
    assert papers[0].id not in {hit.paper.id for hit in search(store, query, SearchOptions(k=50))}
    chosen = (papers[5].id, papers[0].id, papers[1].id)
    ranked = search(store, query, SearchOptions(k=1, scope=Scope(ids=chosen)))
    assert {hit.paper.id for hit in ranked} == set(chosen)
    assert ranked[0].paper.id == papers[0].id


def test_an_aspect_search_compares_the_chosen_sentences(store: EmbeddedStore, papers: list[Paper]) -> None:
    """The reasons name only sentences that were chosen, and the order differs from the whole paper's."""
    stored = store.get([papers[0].id])[papers[0].id]
    hits = search(store, paper_as_query(stored, [3]), SearchOptions(k=5, rerank="single"))
    assert {cell.query_text for hit in hits for cell in hit.why.sentences} == {stored.sentences[2]}


def test_a_channel_that_the_store_does_not_have_is_left_out(store: EmbeddedStore, papers: list[Paper]) -> None:
    """An aspect is proposed by single sentences where they can be searched for, and by the rest where they cannot."""
    aspect = paper_as_query(store.get([papers[0].id])[papers[0].id], [3])
    assert channels(aspect, SearchOptions(), store.channels) == ["bm25", "dense", "sentence"]
    assert channels(aspect, SearchOptions(), ("bm25", "tfidf", "dense")) == ["bm25", "dense"]


def test_another_models_query_is_refused(store: EmbeddedStore, encoder: Encoder) -> None:
    """Both fingerprints and the remedy are in the message."""
    foreign = replace(encoder.encode_query(TEXT), model="f" * 64)
    with pytest.raises(WrongModelError, match=r"ffffffffffff….*--model"):
        search(store, foreign, SearchOptions())


def test_an_empty_store_says_so(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> None:
    """With what to do."""
    with EmbeddedStore.open(tmp_path_factory.mktemp("empty") / "empty.db", create=True) as empty:
        query = encoder.encode_query(TEXT)
        with pytest.raises(StoreError, match="sciret ingest"):
            search(empty, query, SearchOptions())


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"from_": -1}, {"candidates": 0}, {"lambda_": 1.1}, {"rerank_weight": -0.1}]
)
def test_options_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    """Before anything is searched."""
    with pytest.raises(SettingsError):
        SearchOptions(**wrong)  # type: ignore[arg-type]


def test_the_same_search_gives_the_same_answer(store: EmbeddedStore, encoder: Encoder) -> None:
    """Ties included: nothing depends on the order of a hash table or of threads."""
    first, second = (search(store, encoder.encode_query(TEXT), SearchOptions(k=30)) for _ in range(2))
    assert [(hit.paper.id, hit.score) for hit in first] == [(hit.paper.id, hit.score) for hit in second]
    assert np.isfinite([hit.score for hit in first]).all()
