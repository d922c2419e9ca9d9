"""Rankings that negatives are drawn from, and the drawing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.errors import SettingsError
from sciret.paper import Paper
from sciret.training.hard_negatives import NegativeMiner, add_words, by_model, by_words
from sciret.training.mined_examples import Example
from sciret.training.paper_facts import PaperFacts

PAPERS = [
    Paper(f"p{n}", f"Paper {n} about {'coral' if n % 2 else 'steel'} and rare{n}", f"Text{n} other{n} more{n} last{n}.")
    for n in range(40)
]

NEAR_P0 = np.array([1.0, 0.0], np.float32)


def miner(folder: Path, count: int = 5, depth: int = 10) -> NegativeMiner:
    facts = PaperFacts()
    store = EmbeddedStore.open(folder / "words.db", create=True)
    add_words(store, facts.watch(PAPERS))
    return NegativeMiner([by_words(store, facts.words)], facts, list(facts.rows), count, depth, seed=1)


def example(query: str, positive: str = "p1") -> Example:
    return Example("contexts", query, positive, "citing")


def test_bm25_by_the_rarest_words(tmp_path: Path) -> None:
    """A query of many words is ranked by those that few papers have; words that none has are no use."""
    best = miner(tmp_path).rankings[0]
    assert best("paper about coral and rare7 nowhere", 3)[0] == "p7"
    assert best("nowhere at all", 3) == ()
    words = " ".join(f"more{n}" for n in range(20, 40))  # more than are looked for
    assert len(best(words, 40)) == 12


def test_papers_are_indexed_once(tmp_path: Path) -> None:
    with EmbeddedStore.open(tmp_path / "words.db", create=True) as store:
        add_words(store, PAPERS)
        before = store.stats()
        add_words(store, PAPERS)
        assert store.stats() == before
        assert before["papers"] == 40


def test_negatives_are_drawn_from_the_best(tmp_path: Path) -> None:
    """The same ones for the same example, others for another."""
    drawing = miner(tmp_path)
    negatives, by_chance = drawing.negatives(example("coral"))
    assert by_chance == 0
    assert all(int(each[1:]) % 2 for each in negatives)
    assert drawing.negatives(example("coral")) == (negatives, 0)
    assert drawing.negatives(example("coral", "p3"))[0] != negatives


def test_the_rest_comes_by_chance(tmp_path: Path) -> None:
    negatives, by_chance = miner(tmp_path).negatives(example("rare9"))
    assert negatives[0] == "p9"
    assert (len(negatives), len(set(negatives)), by_chance) == (5, 5, 4)


def test_more_than_there_are(tmp_path: Path) -> None:
    """All that may be negatives, and no endless search for others."""
    negatives, _ = miner(tmp_path, count=100, depth=100).negatives(example("coral"))
    assert len(negatives) == len(set(negatives)) <= 39


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (EncodedQuery("q", "m", NEAR_P0), ["p0", "p1"]),
        (EncodedQuery("q", "m", tokens={"reef": 1.0}), ["p3", "p2"]),
        (EncodedQuery("q", "m", NEAR_P0, tokens={"reef": 1.0}), ["p0", "p1", "p3", "p2"]),
    ],
)
def test_a_model_ranks_by_all_that_it_gives(tmp_path: Path, query: EncodedQuery, expected: list[str]) -> None:
    """By vectors, by learned features, or by both: the best of each."""
    with EmbeddedStore.open(tmp_path / "model.db", create=True) as store:
        for number in range(4):
            angle, tokens = number / 4, {"reef": 0.1 + number}
            vector = np.array([np.cos(angle), np.sin(angle)], np.float32)
            paper = Paper(f"p{number}", f"Paper {number}")
            store.write([EncodedPaper(paper, "m", vector, ("Paper",), (), vector[None], tokens=tokens)])
        assert list(by_model(store, lambda _: query)("q", 2)) == expected


def test_a_model_that_gives_nothing_is_refused(tmp_path: Path) -> None:
    with EmbeddedStore.open(tmp_path / "words.db", create=True) as store:
        add_words(store, PAPERS)
        best = by_model(store, lambda text: EncodedQuery(text, "words"))
        with pytest.raises(SettingsError, match="leave --model-store out"):
            best("coral", 2)
