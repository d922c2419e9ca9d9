"""Writing, reading back and deleting, on any Store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciret.encoded import EncodedPaper
from sciret.errors import StoreError, WrongModelError
from sciret.paper import Paper
from sciret.store import Channel, Scope, Store

# Any text but lone surrogates and NUL: what a repository may use as an id.
IDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)


def test_an_empty_store_answers_everything_with_nothing(store: Store, make: Any) -> None:
    """A store is usable before its first paper."""
    query = make.query()
    assert store.model is None
    assert store.get(["p"]) == {}
    assert store.hashes(["p"]) == {}
    assert store.delete(["p"]) == 0
    assert store.write([]) == 0
    assert tuple(store.candidates(query, ["bm25", "tfidf", "dense", "sentence"], 10, Scope())) == ()
    assert store.complete(query, ["p"], "bm25", sentences=True).ids == ()
    assert store.stats()["papers"] == 0


def test_a_paper_comes_back_as_it_went_in(store: Store, make: Any) -> None:
    """Every field, and the vectors to half precision."""
    paper = Paper(
        id="doi:10.1/x",
        title="Über Ångström — 数学 🧪",
        abstract="First.\nSecond\tone.",
        sentences=("First.", "Second\tone."),
        authors=("Ørsted, H. C.", "李"),
        year=1820,
        date="1820-07-21",
        keywords=("electro-magnetism",),
        venue="Annalen",
        doi="10.1/x",
        url="https://example.org/?a=1&b='2'",
        language="de",
        type="article",
        collections=("physics", "history"),
        source="test",
        access="embargoed",
        embargo_end="1821-01-01",
        references=("doi:10.1/y",),
        extra={"nested": {"list": [1, 2.5, None, "x"]}},
    )
    written = replace(
        make.paper("doi:10.1/x"), paper=paper, tokens={"a": 0.5}, keyphrases={"b c": 1.25}, truncated=True
    )
    assert store.write([written]) == 1
    read = store.get(["doi:10.1/x"])["doi:10.1/x"]
    assert read.paper == paper
    assert (read.model, read.sentences, read.roles) == (written.model, written.sentences, written.roles)
    assert (read.tokens, read.keyphrases, read.truncated) == ({"a": 0.5}, {"b c": 1.25}, True)
    for mine, theirs in ((written.dense, read.dense), (written.sentence_vectors, read.sentence_vectors)):
        assert theirs is not None
        assert theirs.dtype == np.float32
        np.testing.assert_array_equal(theirs, mine.astype(np.float16).astype(np.float32))


def test_parts_that_a_model_does_not_give_stay_absent(store: Store, make: Any) -> None:
    """Without vectors a paper is still stored and found by its words."""
    bare = EncodedPaper(Paper("p", "hydrogen"), "m", sentences=("hydrogen",))
    store.write([bare])
    read = store.get(["p"])["p"]
    assert read.dense is None
    assert read.sentence_vectors is None
    query = make.query("hydrogen", model="m")
    assert tuple(store.candidates(query, ["bm25", "dense", "sentence"], 5, Scope())) == ("p",)
    completed = store.complete(query, ["p"], "bm25", sentences=True)
    assert completed.dense.tolist() == [0.0]
    assert [len(matrix) for matrix in completed.sentence_vectors] == [0]


def test_papers_are_returned_by_id_and_unknown_ids_are_left_out(store: Store, make: Any) -> None:
    papers = make.papers(5)
    store.write(papers)
    assert list(store.get(["p3", "nobody", "p1"])) == ["p3", "p1"]
    assert store.hashes(["p1", "nobody"]) == {"p1": papers[1].paper.content_hash}


def test_writing_again_replaces(store: Store, make: Any) -> None:
    """The same id is the same paper: no second copy, new content, new hash."""
    store.write(make.papers(3))
    changed = make.paper("p1")
    store.write([changed])
    assert store.stats()["papers"] == 3
    assert store.get(["p1"])["p1"].paper == changed.paper
    assert store.hashes(["p1"])["p1"] == changed.paper.content_hash


def test_of_one_id_twice_in_a_batch_the_last_counts(store: Store, make: Any) -> None:
    first, second = make.paper("p"), make.paper("p")
    assert store.write([first, second]) == 1
    assert store.get(["p"])["p"].paper == second.paper
    assert store.stats()["papers"] == 1


def test_deleting_is_idempotent(store: Store, make: Any) -> None:
    store.write(make.papers(4))
    assert store.delete(["p0", "p2", "nobody"]) == 2
    assert store.delete(["p0", "p2"]) == 0
    assert set(store.get([f"p{i}" for i in range(4)])) == {"p1", "p3"}
    assert store.stats()["papers"] == 2


def test_a_refused_batch_leaves_no_trace(store: Store, make: Any) -> None:
    """All or nothing: one bad paper, and the good ones of its batch are not written either."""
    store.write(make.papers(2))
    before = dict(store.stats())
    bad = replace(make.paper("bad"), dense=np.full(16, np.nan, np.float32))
    with pytest.raises(StoreError, match="bad"):
        store.write([make.paper("good"), make.paper("p0"), bad])
    assert store.stats() == before
    assert store.get(["good"]) == {}


@pytest.mark.parametrize("paper_id", ["", "a\0b", "a\ud800b"])
def test_ids_that_cannot_be_kept_are_refused(store: Store, make: Any, paper_id: str) -> None:
    """They are refused when written, and simply unknown when asked for."""
    with pytest.raises(StoreError, match="id"):
        store.write([make.paper(paper_id)])
    store.write([make.paper("a")])
    assert store.get([paper_id]) == {}
    assert store.hashes([paper_id]) == {}
    assert store.delete([paper_id]) == 0


def test_vectors_of_another_length_are_refused(store: Store, make: Any) -> None:
    store.write(make.papers(1))
    with pytest.raises(StoreError, match="8 numbers"):
        store.write([replace(make.paper("q"), dense=np.ones(8, np.float32))])


def test_sentences_and_their_vectors_go_together(store: Store, make: Any) -> None:
    with pytest.raises(StoreError, match="3 sentence vectors for 1"):
        store.write([replace(make.paper("q"), sentences=("one",), sentence_vectors=make.vectors(3))])


def test_another_model_is_refused_until_the_store_is_empty(store: Store, make: Any) -> None:
    """Vectors of two models cannot be compared. The message names both, and nothing is written."""
    papers = make.papers(2)
    store.write(papers)
    other = replace(make.paper("q"), model="b" * 64)
    with pytest.raises(WrongModelError, match=r"aaaaaaaaaaaa.*bbbbbbbbbbbb"):
        store.write([other])
    with pytest.raises(WrongModelError):
        store.write([papers[0], other])
    assert store.model == "a" * 64
    store.delete(["p0", "p1"])
    assert store.model is None
    store.write([other])
    assert store.model == "b" * 64


def test_statistics_count_what_is_there(store: Store, make: Any) -> None:
    papers = [make.paper("open", year=1999), make.paper("closed", access="restricted", year=2020)]
    store.write(papers)
    stats = store.stats()
    assert stats["papers"] == 2
    assert stats["searchable"] == 1
    assert stats["sentences"] == sum(len(paper.sentences) for paper in papers)
    assert (stats["first_year"], stats["last_year"]) == (1999, 2020)
    assert stats["model"] == "a" * 64
    assert isinstance(stats["bytes"], int)
    assert stats["bytes"] > 0


def test_closing_twice_is_fine(store: Store, make: Any) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.get(["p"])


def test_what_was_written_is_there_after_reopening(place: Any, make: Any) -> None:
    papers = make.papers(10)
    store = place.open()
    store.write(papers)
    query = make.query()
    found = store.candidates(query, ["bm25", "dense"], 5, Scope())
    store.close()
    again = place.open()
    assert again.model == "a" * 64
    assert {i: p.paper for i, p in again.get([p.paper.id for p in papers]).items()} == {
        p.paper.id: p.paper for p in papers
    }
    assert again.candidates(query, ["bm25", "dense"], 5, Scope()) == found


def test_many_ids_at_once(store: Store, make: Any) -> None:
    """More than any database takes as parameters of one statement."""
    store.write(make.papers(3))
    ids = [f"p{i}" for i in range(40_000)]
    assert list(store.get(ids)) == ["p0", "p1", "p2"]
    assert len(store.hashes(ids)) == 3
    assert set(store.candidates(make.query(), ["dense"], 5, Scope(ids=tuple(ids)))) == {"p0", "p1", "p2"}
    assert store.complete(make.query(), ids, None, sentences=False).ids == ("p0", "p1", "p2")
    assert store.delete(ids) == 3


def test_any_text_is_an_id(store: Store, make: Any, examples: Callable[[int], settings]) -> None:
    """Quotes, wildcards, other scripts, controls: ids are kept apart exactly, also from each other's look-alikes."""

    @examples(60)
    @given(ids=st.lists(IDS, min_size=1, max_size=6, unique=True))
    def check(ids: Sequence[str]) -> None:
        papers = [make.paper(paper_id) for paper_id in ids]
        store.write(papers)
        assert {i: p.paper for i, p in store.get(ids).items()} == {p.paper.id: p.paper for p in papers}
        assert set(store.candidates(make.query(), ["dense"], 10, Scope(ids=tuple(ids)))) == set(ids)
        assert store.delete(ids[:1]) == 1
        assert set(store.hashes(ids)) == set(ids[1:])
        assert store.delete(ids) == len(ids) - 1

    check()


def test_ids_may_be_long(store: Store, make: Any) -> None:
    """Longer than a server takes as its own key, and equal but for the last letter."""
    ids = ["x" * 513, "x" * 512 + "y", "ü" * 2000, "sha256:" + "0" * 64]
    store.write([make.paper(paper_id) for paper_id in ids])
    assert list(store.get(ids)) == ids
    assert set(store.candidates(make.query(), ["dense"], 10, Scope())) == set(ids)
    assert store.delete(ids[:2]) == 2
    assert set(store.hashes(ids)) == set(ids[2:])


def test_every_channel_can_be_asked(store: Store, make: Any) -> None:
    """Those that a store says it has."""
    store.write(make.papers(3))
    assert set(store.channels) == set(get_args(Channel))
    for channel in store.channels:
        assert store.candidates(make.query("neurology"), [channel], 3, Scope())
