"""Pruning, limiting and projection against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciret.encoders.learned import Projection, heaviest, length, limit, prune, top

WEIGHTS = st.lists(st.floats(0, 100, width=32), max_size=30).map(lambda values: np.array(values, np.float32))
NAMED = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.floats(0.01, 10), min_size=1, max_size=12)


def test_pruning_keeps_the_fewest_that_hold_the_mass() -> None:
    """0.5 + 0.3 are the 80 %: the third is not needed any more."""
    assert prune({"a": 0.1, "b": 0.5, "c": 0.3, "d": 0.1}, 0.8) == {"b": 0.5, "c": 0.3}
    assert prune({"a": 0.1, "b": 0.5, "c": 0.3, "d": 0.1}, 0.81) == {"b": 0.5, "c": 0.3, "a": 0.1}


@given(WEIGHTS, st.floats(0.01, 1))
def test_what_is_pruned_is_no_more_than_the_rest_of_the_mass(weights: np.ndarray, mass: float) -> None:
    """And one weight less would be too few."""
    kept = weights[heaviest(weights, mass)].astype(np.float64)
    total = weights.astype(np.float64).sum()
    assert kept.sum() >= mass * total * (1 - 1e-9)
    assert kept[:-1].sum() < mass * total or not len(kept)
    assert (np.diff(kept) <= 0).all()
    assert (kept > 0).all()


def test_nothing_is_lost_with_all_of_the_mass() -> None:
    """Not even what is too small to change the sum."""
    assert heaviest(np.array([1e-12, 0, 1e8]), 1.0).tolist() == [2, 0]


def test_of_equal_weights_the_first_are_kept() -> None:
    """So that the same text has the same features wherever it is encoded."""
    assert heaviest(np.array([1.0, 1.0, 1.0, 1.0]), 0.5).tolist() == [0, 1]


def test_nothing_can_be_pruned() -> None:
    assert prune({}, 0.8) == {}
    assert heaviest(np.zeros(3), 0.8).tolist() == []


def test_a_limit_counts_beta() -> None:
    """A keyphrase of 3 has a smaller share than a token of 1 where it counts a quarter."""
    tokens, keyphrases = {"a": 1.0, "b": 0.5}, {"neural network": 3.0, "cell": 5.0}
    assert limit(tokens, keyphrases, 0.25, 2) == ({"a": 1.0}, {"cell": 5.0})
    assert limit(tokens, keyphrases, 1.0, 2) == ({}, {"neural network": 3.0, "cell": 5.0})
    assert limit(tokens, keyphrases, 0.0, 10) == (tokens, {})


def test_the_top_keyphrases_come_by_weight_and_then_by_name() -> None:
    assert top({"b": 1.0, "c": 2.0, "a": 1.0}, 2) == ("c", "a")


@given(NAMED, NAMED, st.floats(0, 2))
def test_a_text_projects_onto_itself_as_one(tokens: dict[str, float], keyphrases: dict[str, float], b: float) -> None:
    cells = Projection.of(tokens, keyphrases, b).contributions([(tokens, keyphrases)])
    assert cells.sum() == pytest.approx(1, rel=1e-5)


def test_a_score_is_the_dot_product_over_the_squares_of_the_query() -> None:
    tokens, keyphrases = {"cell": 2.0, "##ase": 1.0}, {"stem cell": 4.0}
    papers: list[tuple[dict[str, float], dict[str, float]]] = [
        ({"cell": 1.0, "dog": 9.0}, {"stem cell": 0.5}),
        ({"##ase": 3.0}, {}),
        ({}, {}),
    ]
    projection = Projection.of(tokens, keyphrases, 0.25)
    squares = 2 * 2 + 1 * 1 + 0.25 * 4 * 4
    assert length(tokens, keyphrases, 0.25) == squares
    assert (projection.tokens, projection.keyphrases) == (("cell", "##ase"), ("stem cell",))
    expected: list[list[float]] = [[2 / squares, 0, 0.25 * 4 * 0.5 / squares], [0, 3 / squares, 0], [0, 0, 0]]
    np.testing.assert_allclose(projection.contributions(papers), expected)


def test_a_query_without_features_scores_nothing() -> None:
    projection = Projection.of({"a": 0.0}, {"b": 1.0}, 0.0)
    assert projection.contributions([({"a": 1.0}, {"b": 1.0})]).shape == (1, 0)


def test_weights_of_papers_are_compared_as_single_precision() -> None:
    """A weight that a store has as float64 scores as where it was kept as float32."""
    projection = Projection.of({"a": 1.0}, {}, 0.25)
    both = projection.contributions([({"a": 0.1}, {}), ({"a": float(np.float32(0.1))}, {})])
    assert both[0, 0] == both[1, 0]
