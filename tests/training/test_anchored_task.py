"""What a batch of the anchored head is drawn from, also where there is little of it."""

from __future__ import annotations

import numpy as np
import pytest

from sciret.training.anchored_task import draw_hard
from sciret.training.states import Mask

SCORES = np.array([[0.1, 0.9, 0.5, 0.7], [0.8, 0.2, 0.6, 0.4]], np.float32)
NONE = np.zeros(SCORES.shape, bool)


def drawn(left_out: Mask, hardest: int, count: int = 50) -> list[set[int]]:
    return [set(row) for row in draw_hard(SCORES, left_out, hardest, count, np.random.default_rng(1)).tolist()]


@pytest.mark.parametrize(
    ("hardest", "expected"),
    [(1, [{1}, {0}]), (2, [{1, 3}, {0, 2}]), (4, [{0, 1, 2, 3}] * 2), (9, [{0, 1, 2, 3}] * 2)],
)
def test_negatives_are_the_hardest_or_all_there_are(hardest: int, expected: list[set[int]]) -> None:
    assert drawn(NONE, hardest) == expected


def test_what_is_left_out_is_never_drawn() -> None:
    """A query with fewer papers than are drawn from has these; one with none is told apart."""
    left_out = np.array([[False, True, False, True], [True, True, True, True]])
    assert drawn(left_out, 3) == [{0, 2}, {-1}]
    assert draw_hard(SCORES, left_out, 3, 0, np.random.default_rng(1)).shape == (2, 0)
