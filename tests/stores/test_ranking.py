"""What the channels find and how candidates are scored, on any Store, against plain definitions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.errors import QueryError
from sciret.paper import Paper
from sciret.store import LEXICAL, SPARSE, Channel, Completed, Lexical, Scope, Sparse, Store

CHANNELS: tuple[Channel, ...] = get_args(Channel)
GROUPS = ("terms", "tokens", "keyphrases")
"""Features of a query, in the order of their columns."""


@pytest.mark.parametrize("channel", CHANNELS)
def test_each_channel_finds_the_k_best_in_order(store: Store, make: Any, reference: Any, channel: Channel) -> None:
    papers = make.papers(150)
    store.write(papers)
    expected = reference(papers)
    for _ in range(10):
        query = make.query()
        for k in (1, 7, 1000):
            assert list(store.candidates(query, [channel], k, Scope())) == expected.ranking(query, channel, k)


def test_channels_are_united_without_doubles(store: Store, make: Any) -> None:
    store.write(make.papers(80))
    query = make.query()
    alone = [store.candidates(query, [channel], 10, Scope()) for channel in CHANNELS]
    together = store.candidates(query, CHANNELS, 10, Scope())
    assert list(together) == list(dict.fromkeys(i for found in alone for i in found))


@pytest.mark.parametrize("sparse", SPARSE)
def test_both_sides_of_every_candidate_are_exact(store: Store, make: Any, reference: Any, sparse: Sparse) -> None:
    """Also of those that only the other channel has found: nothing missing is taken as zero."""
    papers = make.papers(60)
    store.write(papers)
    expected = reference(papers)
    query = make.query("hydrogen hydrogen neurograph photometer unheardof")
    completed = store.complete(query, [p.paper.id for p in papers], sparse, sentences=True)
    dense, lexical = expected.scores(query, "dense"), expected.scores(query, sparse)
    np.testing.assert_allclose(completed.dense, [dense[i] for i in completed.ids], atol=1e-6)
    np.testing.assert_allclose(completed.sparse, [lexical[i] for i in completed.ids], atol=1e-6)
    parts = expected.parts(query, sparse)
    features = [(group, name) for group in GROUPS for name in getattr(completed, group)]
    assert set(features) == set(parts["p0"])
    by_feature = [[parts[i][feature] for feature in features] for i in completed.ids]
    np.testing.assert_allclose(completed.contributions, by_feature, atol=1e-6)
    np.testing.assert_allclose(completed.contributions.sum(axis=1), completed.sparse, atol=1e-6)
    assert completed.sparse.min() >= 0
    assert completed.sparse.max() <= 1 or sparse not in LEXICAL


def test_both_is_half_of_each(store: Store, make: Any) -> None:
    """Also for a query that has only words or only learned features, and for papers without any of these."""
    papers = make.papers(40)
    papers[3] = replace(papers[3], tokens={}, keyphrases={})
    store.write(papers)
    ids = [paper.paper.id for paper in papers]
    whole = make.query("hydrogen neurograph photometer")
    for query in (whole, replace(whole, tokens={}, keyphrases={}), replace(whole, text="unheard"), make.query()):
        words, features, both = (
            store.complete(query, ids, sparse, sentences=False) for sparse in ("bm25", "casper", "both")
        )
        assert (both.terms, both.tokens, both.keyphrases) == (words.terms, features.tokens, features.keyphrases)
        halves = np.hstack((words.contributions, features.contributions)) / 2
        np.testing.assert_array_equal(both.contributions, halves)
        np.testing.assert_allclose(both.sparse, (words.sparse + features.sparse) / 2, rtol=1e-6)
    assert both.sparse.max() > 0


@pytest.mark.parametrize("sparse", SPARSE)
def test_scores_do_not_depend_on_the_other_candidates(store: Store, make: Any, sparse: Sparse) -> None:
    store.write(make.papers(40))
    query = make.query()
    everything = store.complete(query, [f"p{i}" for i in range(40)], sparse, sentences=False)
    alone = store.complete(query, ["p17"], sparse, sentences=False)
    assert alone.sparse[0] == everything.sparse[17]
    assert alone.dense[0] == everything.dense[17]


def test_completed_papers_follow_the_ids_that_were_asked_for(store: Store, make: Any) -> None:
    """In their order, each once; those that have gone meanwhile are left out. Records are decoded when wanted."""
    papers = make.papers(5)
    store.write(papers)
    completed = store.complete(make.query(), ["p4", "gone", "p0", "p4", "p2"], "bm25", sentences=True)
    assert completed.ids == ("p4", "p0", "p2")
    assert [completed.load(i).paper for i in range(3)] == [papers[4].paper, papers[0].paper, papers[2].paper]
    for matrix, number in zip(completed.sentence_vectors, (4, 0, 2), strict=True):
        np.testing.assert_array_equal(matrix, papers[number].sentence_vectors.astype(np.float16).astype(np.float32))


def test_sides_that_were_not_asked_for_are_empty(store: Store, make: Any) -> None:
    store.write(make.papers(3))
    completed = store.complete(make.query(), ["p0", "p1"], None, sentences=False)
    assert completed.sentence_vectors == ()
    assert (completed.terms, completed.tokens, completed.keyphrases) == ((), (), ())
    assert completed.contributions.shape == (2, 0)
    assert completed.sparse.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("text", ["", "the of and", "zzz unheard-of", "?!", "\0"])
@pytest.mark.parametrize("sparse", LEXICAL)
def test_a_query_without_known_words_finds_nothing_lexically(
    store: Store, make: Any, text: str, sparse: Lexical
) -> None:
    store.write(make.papers(5))
    query = replace(make.query(), text=text)
    assert tuple(store.candidates(query, [sparse], 5, Scope())) == ()
    completed = store.complete(query, ["p0"], sparse, sentences=False)
    assert completed.terms == ()
    assert completed.sparse.tolist() == [0.0]


def test_words_are_found_in_any_form(store: Store, make: Any) -> None:
    """Case, accents and endings do not matter, neither in the paper nor in the query."""
    papers = [("a", "Réactions catalysées: GENERALIZING"), ("b", "unrelated words")]
    store.write([EncodedPaper(Paper(i, title), "m", sentences=(title,)) for i, title in papers])
    found = store.candidates(EncodedQuery("generalized REACTION", "m"), ["bm25"], 5, Scope())
    assert tuple(found) == ("a",)


@pytest.mark.parametrize("channel", CHANNELS)
def test_equal_papers_are_ordered_by_id(store: Store, make: Any, channel: Channel) -> None:
    """At the end of the list too: which of the tied papers come in does not depend on when they were written."""
    twin = make.paper("x")
    ids = [f"t{number:02}" for number in range(30)]
    order = make.rng.permutation(30)
    store.write([replace(twin, paper=replace(twin.paper, id=ids[number])) for number in order])
    store.write(make.papers(3))
    query = make.query(twin.paper.text, dense=twin.dense, sentence_vectors=twin.sentence_vectors)
    assert list(store.candidates(query, [channel], 12, Scope())) == ids[:12]


def test_a_paper_is_not_found_by_itself(store: Store, make: Any) -> None:
    """As a query it takes no place among the k; asked for as a candidate it is one."""
    papers = make.papers(20)
    store.write(papers)
    query = make.query(papers[7].paper.text, dense=papers[7].dense, like="p7")
    for channel in CHANNELS:
        others = [i for i in store.candidates(replace(query, like=None), [channel], 20, Scope()) if i != "p7"]
        assert list(store.candidates(query, [channel], 5, Scope())) == others[:5]
    assert tuple(store.candidates(query, ["dense"], 5, Scope(ids=("p7", "p3")))) == ("p7", "p3")


@pytest.mark.parametrize("channel", ["dense", "sentence"])
def test_a_channel_needs_its_vector(store: Store, make: Any, channel: Channel) -> None:
    store.write(make.papers(3))
    with pytest.raises(QueryError, match=channel):
        store.candidates(EncodedQuery("x", "m"), [channel], 5, Scope())


def test_at_least_one_candidate_must_be_asked_for(store: Store, make: Any) -> None:
    with pytest.raises(QueryError, match="at least 1"):
        store.candidates(make.query(), ["bm25"], 0, Scope())


def test_a_changed_store_equals_a_fresh_one(place: Any, make: Any) -> None:
    """After updates and deletes, in whatever steps and with searches between, every number is as if newly made."""
    changed, papers = place.open("changed"), {p.paper.id: p for p in make.papers(120)}
    query = make.query()
    changed.write(list(papers.values()))
    for step in range(12):
        changed.candidates(query, CHANNELS, 5, Scope())
        gone = [str(i) for i in make.rng.choice(sorted(papers), 6, replace=False)]
        assert changed.delete(gone) == 6
        new = make.papers(4, prefix=f"n{step}-") + [make.paper(str(i)) for i in make.rng.choice(sorted(papers), 5)]
        changed.write(new)
        papers = {i: p for i, p in papers.items() if i not in gone} | {p.paper.id: p for p in new}
    fresh = place.open("fresh")
    fresh.write(list(papers.values()))
    assert changed.stats()["papers"] == fresh.stats()["papers"] == len(papers)
    _assert_equal_answers(changed, fresh, query, sorted(papers))
    changed.close()
    _assert_equal_answers(place.open("changed"), fresh, query, sorted(papers))


def test_the_size_of_the_batches_does_not_matter(place: Any, make: Any) -> None:
    """A hundred writes of one paper give the same answers as one write of a hundred."""
    papers, query = make.papers(100), make.query()
    one_by_one, at_once = place.open("one"), place.open("all")
    for paper in papers:
        one_by_one.write([paper])
    at_once.write(papers)
    _assert_equal_answers(one_by_one, at_once, query, [p.paper.id for p in papers])


def _assert_equal_answers(left: Store, right: Store, query: EncodedQuery, ids: list[str]) -> None:
    for channel in CHANNELS:
        for k in (10, 1000):
            found = left.candidates(query, [channel], k, Scope())
            assert list(found) == list(right.candidates(query, [channel], k, Scope()))
    for sparse in SPARSE:
        mine = left.complete(query, ids, sparse, sentences=True)
        theirs = right.complete(query, ids, sparse, sentences=True)
        _assert_equal_scores(mine, theirs)


def _assert_equal_scores(mine: Completed, theirs: Completed) -> None:
    assert mine.ids == theirs.ids
    for group in GROUPS:
        assert getattr(mine, group) == getattr(theirs, group)
    np.testing.assert_array_equal(mine.dense, theirs.dense)
    np.testing.assert_array_equal(mine.sparse, theirs.sparse)
    np.testing.assert_array_equal(mine.contributions, theirs.contributions)
    for a, b in zip(mine.sentence_vectors, theirs.sentence_vectors, strict=True):
        np.testing.assert_array_equal(a, b)
