"""Fusion is exact arithmetic, and its order never depends on chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciret.errors import SettingsError, StoreError
from sciret.retrieval.fusion import Scores, blend, fuse, rank


def scores(*values: float) -> Scores:
    return np.array(values, np.float32)


def test_fusion_is_the_weighted_sum_of_both_sides() -> None:
    np.testing.assert_array_equal(fuse(scores(0.5, 1.0), scores(0.25, 0.0), 0.75), [0.4375, 0.75])


def test_all_weight_on_one_side_is_that_side() -> None:
    dense, sparse = scores(0.1, 0.9), scores(0.7, 0.3)
    np.testing.assert_array_equal(fuse(dense, sparse, 1), dense)
    np.testing.assert_array_equal(fuse(dense, sparse, 0), sparse)


def test_blend_gives_the_sentences_their_weight() -> None:
    np.testing.assert_array_equal(blend(scores(0.5), scores(1.0), 0.25), [0.625])


def test_float32_scores_are_added_in_float64() -> None:
    """Rounding to float32 would make ties of scores that differ."""
    dense, sparse = scores(0.3, 0.3), scores(0.1, np.nextafter(np.float32(0.1), np.float32(1)))
    first, second = fuse(dense, sparse, 0.999)
    assert first < second


@pytest.mark.parametrize("weight", [-0.01, 1.01, float("nan")])
def test_a_weight_outside_0_to_1_is_refused(weight: float) -> None:
    with pytest.raises(SettingsError, match="lambda must be between 0 and 1"):
        fuse(scores(1), scores(1), weight)
    with pytest.raises(SettingsError, match="rerank_weight must be between 0 and 1"):
        blend(scores(1), scores(1), weight)


def test_scores_that_are_not_numbers_are_refused() -> None:
    """A NaN would sort anywhere and spoil the order without a sign."""
    with pytest.raises(StoreError, match="not numbers"):
        fuse(scores(0.5, float("nan")), scores(0.5, 0.5), 0.8)


def test_sides_of_different_candidates_are_refused() -> None:
    """A single score must not be spread over all candidates by broadcasting."""
    with pytest.raises(ValueError, match="different candidates"):
        fuse(scores(1, 2, 3), scores(1), 0.5)


def test_equal_scores_are_ordered_by_id() -> None:
    assert rank(scores(0.2, 0.9, 0.2, 0.9), ["b", "z", "a", "y"]) == [3, 1, 2, 0]


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5]), st.text(max_size=2)), unique_by=lambda pair: pair[1]))
def test_order_does_not_depend_on_the_order_of_candidates(candidates: list[tuple[float, str]]) -> None:
    def ranked(pairs: list[tuple[float, str]]) -> list[str]:
        ids = [name for _, name in pairs]
        return [ids[i] for i in rank(np.array([score for score, _ in pairs]), ids)]

    assert (
        ranked(candidates)
        == ranked(candidates[::-1])
        == [i for _, i in sorted(candidates, key=lambda p: (-p[0], p[1]))]
    )
