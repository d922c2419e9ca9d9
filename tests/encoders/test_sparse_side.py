"""What a sparse side is made of, and how its parts become one score."""

from __future__ import annotations

import numpy as np
import pytest

from sciret.encoders.sparse_side import BM25_SHARE, Summands, shares, taken_apart
from sciret.store import SPARSE_CHANNELS

WORDS = Summands(np.array([[0.2, 0.4], [0.0, 0.1]]), terms=("cell", "stem"))
FEATURES = Summands(np.array([[0.3, 0.1], [0.5, 0.0]]), tokens=("##ase",), keyphrases=("stem cell",))


def test_shares_sum_to_one() -> None:
    """And a sparse side of one channel is that channel as it is."""
    assert sum(shares("both").values()) == 1
    assert tuple(shares("both")) == ("bm25", "casper")
    assert all(shares(channel) == {channel: 1.0} for channel in SPARSE_CHANNELS)
    assert shares(None) == {}


def test_summands_are_put_side_by_side_with_their_shares() -> None:
    both = Summands.together([(WORDS, 0.25), (FEATURES, 0.75)], papers=2)
    assert (both.terms, both.tokens, both.keyphrases) == (("cell", "stem"), ("##ase",), ("stem cell",))
    np.testing.assert_allclose(both.cells, [[0.05, 0.1, 0.225, 0.075], [0, 0.025, 0.375, 0]])


def test_one_channel_alone_is_not_changed_and_none_adds_nothing() -> None:
    alone = Summands.together([(FEATURES, 1.0)], papers=2)
    np.testing.assert_array_equal(alone.cells, FEATURES.cells)
    assert (alone.terms, alone.tokens) == ((), ("##ase",))
    assert Summands.together([], papers=3).cells.shape == (3, 0)


def test_a_score_is_taken_apart_into_those_that_it_is_the_sum_of() -> None:
    both = Summands.together([(WORDS, BM25_SHARE), (FEATURES, 1 - BM25_SHARE)], papers=2)
    parts = taken_apart(both.cells[0].astype(np.float32), len(both.terms))
    assert parts == pytest.approx({"bm25": 0.6, "casper": 0.4})
