"""Choice by coverage: lazy greedy gives what plain greedy gives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciret.training.coverage import choose_by_coverage, choose_by_frequency, phrases_held, worth
from sciret.training.phrase_index import PhraseIndex

PAPERS = 8


def index_of(*lists: list[int]) -> PhraseIndex:
    starts = np.append(0, np.cumsum([len(each) for each in lists])).astype(np.int64)
    papers = np.array([paper for each in lists for paper in sorted(each)], np.int32)
    return PhraseIndex(starts, papers, [f"phrase {number:02d}" for number in range(len(lists))])


def plain_greedy(index: PhraseIndex, size: int, weights: npt.NDArray[np.float64]) -> list[int]:
    """Every gain computed anew for every choice."""
    held = np.zeros(len(weights), np.int64)
    chosen: list[int] = []
    while len(chosen) < min(size, len(index)):
        gains = {
            term: float((weights[index.papers_of(term)] / (1 + held[index.papers_of(term)])).sum())
            for term in range(len(index))
            if term not in chosen
        }
        best = min(gains, key=lambda term: (-round(gains[term], 9), index.names[term]))
        chosen.append(best)
        held[index.papers_of(best)] += 1
    return chosen


@given(
    st.lists(st.sets(st.integers(0, PAPERS - 1), min_size=1).map(sorted), min_size=1, max_size=10),
    st.lists(st.sampled_from([1.0, 2.0, 4.0]), min_size=PAPERS, max_size=PAPERS),
)
def test_lazy_greedy_is_greedy(lists: list[list[int]], weights: list[float]) -> None:
    """The same gains in the same order; where gains tie up to rounding, either may come first."""
    index, by = index_of(*lists), np.array(weights)
    lazy, plain = choose_by_coverage(index, 6, by), plain_greedy(index, 6, by)
    assert worth_of(index, lazy.terms, by) == pytest.approx(worth_of(index, plain, by), rel=1e-6)
    assert all(a >= b - 1e-9 for a, b in zip(lazy.gains, lazy.gains[1:], strict=False))


def worth_of(index: PhraseIndex, terms: list[int], weights: npt.NDArray[np.float64]) -> float:
    held = phrases_held(index, terms, len(weights))
    return float(sum(w * sum(1 / (n + 1) for n in range(h)) for w, h in zip(weights, held, strict=True)))


def test_coverage_prefers_papers_that_have_nothing_yet() -> None:
    """Three frequent phrases of the same papers against a rare one of another: that is the difference to frequency."""
    index = index_of([0, 1, 2, 3], [0, 1, 2, 3], [4, 5, 6])
    weights = np.ones(PAPERS)
    assert choose_by_coverage(index, 2, weights).terms == [0, 2]
    assert choose_by_frequency(index, 2, weights).terms == [0, 1]


def test_laziness_saves_work() -> None:
    """Of phrases that share no paper no gain ever changes, so each choice computes one anew."""
    index = index_of(*[[paper] for paper in range(PAPERS)])
    choice = choose_by_coverage(index, PAPERS, np.ones(PAPERS))
    assert choice.computed <= 2 * PAPERS + PAPERS


def test_weights_of_papers_decide() -> None:
    index = index_of([0, 1], [2])
    assert choose_by_coverage(index, 1, np.array([1.0, 1.0, 3.0])).terms == [1]


def test_fewer_terms_than_asked_for() -> None:
    assert choose_by_coverage(index_of([0]), 5, np.ones(1)).terms == [0]


def test_a_paper_that_has_more_phrases_than_are_counted() -> None:
    index = index_of(*[[0]] * 300)
    assert len(choose_by_coverage(index, 300, np.ones(1)).terms) == 300


def test_worth_is_the_harmonic_number() -> None:
    assert worth(np.array([0, 1, 3])) == pytest.approx((0 + 1 + 1 + 0.5 + 1 / 3) / 3)
    assert worth(np.array([], np.int64)) == 0.0
