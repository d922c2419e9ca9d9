"""The search path on the real model and the embedded store."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedQuery
from sciret.encoders.encoder import Encoder
from sciret.encoders.query import paper_as_query
from sciret.errors import QueryError, SettingsError, StoreError, WrongModelError
from sciret.hit import Hit
from sciret.paper import Paper
from sciret.retrieval.explain import one_word
from sciret.retrieval.search import RERANK, SearchOptions, best_sparse, channels, search, weighed
from sciret.store import CHANNELS, SPARSE, Condition, Scope, Sparse

from ..encoders.sparse_bundle import sparse_bundle
from .conftest import REEFS

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


def test_both_sparse_channels_propose_where_both_are_the_sparse_side() -> None:
    """Unless the sparse side has no weight. `both` is not a channel itself."""
    query = EncodedQuery("text", "m", np.ones(2, np.float32))
    both = SearchOptions(sparse="both")
    assert channels(query, both, CHANNELS) == ["bm25", "casper", "dense"]
    assert channels(query, replace(both, lambda_=0.0), CHANNELS) == ["bm25", "casper"]
    assert channels(query, replace(both, lambda_=1.0), CHANNELS) == ["dense"]


def test_the_best_sparse_side_is_both_where_there_are_both() -> None:
    assert best_sparse(CHANNELS) == "both"
    assert best_sparse([channel for channel in CHANNELS if channel != "casper"]) == "bm25"


LEARNED = SearchOptions(k=20, sparse="casper", lambda_=0.4)


def test_learned_features_are_a_side_of_the_score(learned_store: EmbeddedStore, sparse_encoder: Encoder) -> None:
    """λ·dense + (1−λ)·projection, worked out by hand from what is stored of each paper."""
    query = sparse_encoder.encode_query("coral reefs and enzymes of zooxanthellae in sand")
    assert query.keyphrases
    squares = sum(w * w for w in query.tokens.values()) + 0.25 * sum(w * w for w in query.keyphrases.values())
    hits = search(learned_store, query, LEARNED)
    stored = learned_store.get([hit.paper.id for hit in hits])
    for hit in hits:
        paper = stored[hit.paper.id]
        words = sum(w * paper.tokens.get(name, 0) for name, w in query.tokens.items()) / squares
        concepts = 0.25 * sum(w * paper.keyphrases.get(name, 0) for name, w in query.keyphrases.items()) / squares
        assert hit.parts["sparse"] == pytest.approx(words + concepts, abs=1e-6)
        assert hit.parts["fused"] == pytest.approx(0.4 * hit.parts["dense"] + 0.6 * (words + concepts), abs=1e-6)
        if words + concepts:
            assert sum(hit.why.terms.values()) == pytest.approx(words / (words + concepts), abs=1e-6)
            assert sum(hit.why.keyphrases.values()) == pytest.approx(concepts / (words + concepts), abs=1e-6)
        assert not any(word.startswith("##") for word in hit.why.terms)
    assert any(hit.why.terms and hit.why.keyphrases for hit in hits)


def test_both_sparse_sides_in_one_score(learned_store: EmbeddedStore, sparse_encoder: Encoder) -> None:
    """Half of each, as the parts say, and the reasons of both: forms of one word once, shares that sum to 1."""
    query = sparse_encoder.encode_query("coral reefs and enzymes of zooxanthellae in sand")
    everything = replace(LEARNED, k=200, candidates=200)
    alone = {
        name: {hit.paper.id: hit for hit in search(learned_store, query, replace(everything, sparse=name))}
        for name in SPARSE
    }
    for paper_id, hit in alone["both"].items():
        words, features = alone["bm25"][paper_id], alone["casper"][paper_id]
        assert hit.parts["bm25"] == pytest.approx(words.parts["sparse"], abs=1e-6)
        assert hit.parts["casper"] == pytest.approx(features.parts["sparse"], abs=1e-6)
        halves = (words.parts["sparse"] + features.parts["sparse"]) / 2
        assert hit.parts["sparse"] == pytest.approx(halves, abs=1e-6)
        assert hit.parts["fused"] == pytest.approx(0.4 * hit.parts["dense"] + 0.6 * halves, abs=1e-6)
        if halves:
            assert sum((*hit.why.terms.values(), *hit.why.keyphrases.values())) == pytest.approx(1, abs=1e-5)
        assert {one_word(word) for word in hit.why.terms} == {
            one_word(w) for w in (*words.why.terms, *features.why.terms)
        }
        assert len({one_word(word) for word in hit.why.terms}) == len(hit.why.terms)
        assert set(hit.why.keyphrases) == set(features.why.keyphrases)
    assert {"bm25", "casper"}.isdisjoint(alone["bm25"]["reef-1"].parts)
    assert any(set(hit.why.terms) & set(alone["bm25"][i].why.terms) for i, hit in alone["both"].items())


@pytest.mark.parametrize("sparse", ["casper", "both"])
def test_beta_says_what_concepts_count(learned_store: EmbeddedStore, sparse_encoder: Encoder, sparse: Sparse) -> None:
    query, learned = sparse_encoder.encode_query("coral reefs and enzymes"), replace(LEARNED, sparse=sparse)
    for hit in search(learned_store, query, replace(learned, beta=0.0)):
        assert not hit.why.keyphrases
    light, heavy = (search(learned_store, query, replace(learned, beta=beta, lambda_=0.0)) for beta in (0.1, 100.0))
    assert _concepts(light) < 0.5
    assert _concepts(heavy) > 0.9


def _concepts(hits: list[Hit]) -> float:
    """Their share in what CASPER adds to the first hit's sparse score."""
    parts = hits[0].parts
    learned = parts["casper"] / 2 / parts["sparse"] if "casper" in parts else 1.0
    return sum(hits[0].why.keyphrases.values()) / learned


def test_hits_have_the_keyphrases_of_their_papers(learned_store: EmbeddedStore, sparse_encoder: Encoder) -> None:
    """And `--where` finds papers by them."""
    query = sparse_encoder.encode_query("coral reefs and enzymes")
    chosen = replace(LEARNED, scope=Scope(where=(Condition.parse("keyphrase=Coral reef"),)))
    hits = search(learned_store, query, chosen)
    assert hits
    assert {hit.paper.id for hit in hits} >= {"reef-1", "reef-2"}
    assert all("coral reef" in hit.keyphrases for hit in hits)


def test_a_paper_is_one_to_itself_by_its_learned_features(learned_store: EmbeddedStore, papers: list[Paper]) -> None:
    stored = learned_store.get([papers[0].id])[papers[0].id]
    alone = replace(LEARNED, lambda_=0.0, scope=Scope(ids=(papers[0].id, papers[1].id)))
    first, second = search(learned_store, paper_as_query(stored), alone)
    assert first.paper.id == papers[0].id
    assert first.parts["sparse"] == pytest.approx(1)
    assert second.parts["sparse"] < 1


def test_a_paper_with_many_features_is_a_query_of_its_heaviest() -> None:
    query = EncodedQuery("t", "m", tokens={f"w{i}": 1.0 + i for i in range(300)}, keyphrases={"a b": 1e6}, like="p")
    limited = weighed(query, SearchOptions(beta=0.5))
    assert len(limited.tokens) == 255
    assert (min(limited.tokens.values()), limited.keyphrases, limited.beta) == (46.0, {"a b": 1e6}, 0.5)
    assert len(weighed(replace(query, like=None), SearchOptions()).tokens) == 300


@pytest.mark.parametrize("sparse", ["casper", "both"])
def test_a_store_without_learned_features_says_what_to_do(
    sparse_encoder: Encoder, tmp_path: Path, sparse: Sparse
) -> None:
    """Its papers may have been encoded when the model gave none."""
    with EmbeddedStore.open(tmp_path / "before.db", create=True) as before:
        before.write([replace(each, tokens={}, keyphrases={}) for each in sparse_encoder.encode_papers(REEFS)])
        with pytest.raises(QueryError, match=r"no learned sparse features.*--sparse bm25.*sciret models"):
            search(before, sparse_encoder.encode_query(TEXT), replace(LEARNED, sparse=sparse))
        assert search(before, sparse_encoder.encode_query(TEXT), SearchOptions())


def test_a_model_without_vectors_searches_by_its_sparse_side(tmp_path: Path) -> None:
    """Which the message says how to ask for."""
    encoder = Encoder.open(sparse_bundle(tmp_path), device="cpu")
    with EmbeddedStore.open(tmp_path / "sparse.db", create=True) as bare:
        bare.write(list(encoder.encode_papers(REEFS)))
        query = encoder.encode_query("coral reef")
        with pytest.raises(QueryError, match="--lambda 0"):
            search(bare, query, LEARNED)
        hits = search(bare, query, replace(LEARNED, lambda_=0.0))
        assert hits
        assert all(hit.score == hit.parts["sparse"] > 0 for hit in hits)


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
    "wrong", [{"k": 0}, {"from_": -1}, {"candidates": 0}, {"lambda_": 1.1}, {"rerank_weight": -0.1}, {"beta": -1}]
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
