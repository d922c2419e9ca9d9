"""Half precision: decoded as numpy does, refused where it cannot hold a number, compared row by row."""

from __future__ import annotations

import numpy as np
import pytest

from sciret.encoders.halves import best_cosines, row_counts, to_bytes, to_vectors
from sciret.errors import StoreError


def test_every_finite_half_is_decoded_as_numpy_does() -> None:
    """All 63,488 of them, subnormals and negative zero too."""
    halves = np.arange(65_536, dtype=np.uint16).view("<f2")
    halves = halves[np.isfinite(halves)]
    decoded = to_vectors(halves.tobytes(), 1)[:, 0]
    np.testing.assert_array_equal(decoded.view(np.int32), halves.astype(np.float32).view(np.int32))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 65_520.0])
def test_a_number_that_no_half_can_hold_is_refused(number: float) -> None:
    with pytest.raises(StoreError, match="paper 'p': a vector that is not finite"):
        to_bytes(np.array([0.5, number], np.float32), "p")


def test_the_best_of_a_papers_rows_counts() -> None:
    rng = np.random.default_rng(0)
    rows, queries = rng.standard_normal((6, 5)).astype(np.float32), rng.standard_normal((2, 5)).astype(np.float32)
    blobs = [to_bytes(rows[:1], "a"), to_bytes(rows[1:4], "b"), to_bytes(rows[4:], "c")]
    assert row_counts(blobs, 5).tolist() == [1, 3, 2]
    cosines = (rows.astype(np.float16).astype(np.float64) @ queries.T.astype(np.float64)).max(axis=1)
    np.testing.assert_allclose(best_cosines(blobs, queries), [cosines[:1].max(), cosines[1:4].max(), cosines[4:].max()])
    assert best_cosines([], queries).shape == (0,)


def test_equal_vectors_are_tied_wherever_they_stand() -> None:
    """A matrix product would add them up in another order from one row to the next."""
    rng = np.random.default_rng(1)
    row = rng.standard_normal((1, 384)).astype(np.float32)
    found = best_cosines([to_bytes(row, "p")] * 37, rng.standard_normal((3, 384)).astype(np.float32))
    assert len(set(found.tolist())) == 1
