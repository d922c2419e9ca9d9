"""Intervals and p values on data whose answer is known."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from sciret.evaluation.significance import interval, randomisation_p

ROUNDING = 1e-12


def sample(queries: int, measures: int = 2, seed: int = 1) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.random.default_rng(seed).random((queries, measures))


@pytest.mark.parametrize("queries", [1, 2, 3, 50, 400])
def test_the_interval_holds_the_mean(queries: int) -> None:
    values = sample(queries)
    low, high = interval(values)
    assert low.shape == high.shape == (2,)
    assert (low <= values.mean(axis=0) + ROUNDING).all()
    assert (high >= values.mean(axis=0) - ROUNDING).all()


def test_the_interval_is_that_of_the_normal_distribution() -> None:
    """For many queries: 1.96 standard errors to each side."""
    values = sample(400)
    low, high = interval(values)
    error = 1.96 * values.std(axis=0) / np.sqrt(400)
    assert low == pytest.approx(values.mean(axis=0) - error, abs=0.05 * error.max())
    assert high == pytest.approx(values.mean(axis=0) + error, abs=0.05 * error.max())


def test_the_interval_has_no_width_where_nothing_varies() -> None:
    low, high = interval(np.full((20, 1), 0.3))
    assert (low[0], high[0]) == (pytest.approx(0.3), pytest.approx(0.3))


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Nineteen times of twenty, a little less for small samples."""
    truth = 0.5
    ends = [interval(sample(40, 1, seed)) for seed in range(100)]
    assert 88 <= sum(bool(low[0] <= truth <= high[0]) for low, high in ends) <= 99


def test_identical_runs_have_p_1() -> None:
    assert randomisation_p(np.zeros((30, 3))).tolist() == [1.0, 1.0, 1.0]


def test_a_clear_difference_has_a_small_p() -> None:
    """Better on each of 30 queries: of 2^30 signs only two are as extreme; p stays above 0."""
    (p,) = randomisation_p(np.full((30, 1), 0.1))
    assert p == pytest.approx(1 / 10_001)


@pytest.mark.parametrize(("queries", "exact"), [(1, 1.0), (2, 1 / 2), (4, 1 / 8), (6, 1 / 32)])
def test_p_is_that_of_all_sign_flips(queries: int, exact: float) -> None:
    """Few queries can be counted through: all signs equal has a chance of two in 2^n, also with 0.1 inexact."""
    (p,) = randomisation_p(np.full((queries, 1), 0.1))
    assert p == pytest.approx(exact, abs=0.015)


def test_p_has_two_sides_and_a_column_for_each_measure() -> None:
    """A gain and the same loss are as surprising as each other; a difference in one measure leaves the others."""
    differences = sample(25, 1) - 0.4
    both = randomisation_p(np.hstack([differences, -differences, np.zeros_like(differences)]))
    assert both[0] == both[1] < both[2] == 1.0


def test_p_is_uniform_where_there_is_no_difference() -> None:
    """A p below 0.05 must come about once in twenty."""
    ps = [float(randomisation_p(sample(30, 1, seed) - 0.5)[0]) for seed in range(200)]
    assert 2 <= sum(p < 0.05 for p in ps) <= 20
    assert 0.4 < float(np.mean(ps)) < 0.6


def test_figures_are_repeatable() -> None:
    values = sample(60)
    assert np.array_equal(interval(values), interval(values))
    assert np.array_equal(randomisation_p(values - 0.5), randomisation_p(values - 0.5))


def test_memory_is_bounded_for_many_queries() -> None:
    """All draws over 2,000 queries at once would take 160 MB a measure."""
    values = sample(2_000, 5)
    tracemalloc.start()
    try:
        interval(values)
        randomisation_p(values)
        assert tracemalloc.get_traced_memory()[1] < 60e6
    finally:
        tracemalloc.stop()
