"""Batches by number: every row once a pass, sources by weight, the same again for the same seed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sciret.errors import SettingsError
from sciret.training.prepared import Prepared, prepare
from sciret.training.schedule import Schedule, draw, source_weights

from .conftest import WriteJsonl

ROWS = np.arange(20)
SOURCES = np.repeat(np.array([0, 1], dtype=np.uint8), 10)


@pytest.fixture
def data(tmp_path: Path, write_jsonl: WriteJsonl) -> Prepared:
    papers = [{"id": f"p{i}", "title": f"Title {i}"} for i in range(9)]
    rows = [
        {
            "source": "title",
            "query": f"q{i}",
            "positive": f"p{i}",
            "negatives": [f"p{j}" for j in range(9) if j != i][:count],
            "scores": [0.5, *(0.1 * j for j in range(count))],
        }
        for i, count in enumerate((8, 1, 0))
    ]
    return prepare(write_jsonl("t.jsonl", rows), [write_jsonl("p.jsonl", papers)], tmp_path / "data")


def test_a_pass_has_every_row_once_in_an_order_of_its_own() -> None:
    schedule = Schedule(ROWS, SOURCES, np.ones(2), seed=1)
    batches = [schedule.batch(number, 5) for number in range(8)]
    first, second = (np.concatenate([rows for rows, passed in batches if passed == p]) for p in (0, 1))
    assert sorted(first) == sorted(second) == list(range(20))
    assert first.tolist() != second.tolist()
    again = Schedule(ROWS, SOURCES, np.ones(2), seed=1)
    assert again.batch(6, 5)[0].tolist() == batches[6][0].tolist()
    assert Schedule(ROWS, SOURCES, np.ones(2), seed=2).batch(6, 5)[0].tolist() != batches[6][0].tolist()


def test_weights_say_how_often_a_source_is_seen() -> None:
    """Twice and a half of the first, nothing of the second; the half is another one in the next pass."""
    schedule = Schedule(ROWS, SOURCES, np.array([2.5, 0.0]), seed=1)
    passes = [Counter(schedule.order(number).tolist()) for number in (0, 1)]
    assert all(sum(seen.values()) == 25 and set(seen.values()) == {2, 3} and max(seen) < 10 for seen in passes)
    assert passes[0] != passes[1]


def test_too_few_rows_for_a_batch_are_refused() -> None:
    with pytest.raises(SettingsError, match="20 training triplets are fewer than one batch of 21"):
        Schedule(ROWS, SOURCES, np.ones(2), seed=1).batch(0, 21)


def test_negatives_are_drawn_anew_in_each_pass_and_filled_up(data: Prepared) -> None:
    """With the scores that belong to them; the paper that fills up has none."""
    passes = [draw(data, np.arange(3), 2, seed=3, passed=passed) for passed in range(6)]
    assert len({tuple(drawn.negatives[0]) for drawn in passes}) > 1
    for drawn in passes:
        own = data.negatives[data.starts[0] : data.starts[1]].tolist()
        for negative, score in zip(drawn.negatives[0], drawn.scores[0, 1:], strict=True):
            assert score == pytest.approx(0.1 * own.index(negative))
        assert drawn.scores[:, 0].tolist() == [0.5, 0.5, 0.5]
        assert np.isnan(drawn.scores).tolist() == [[False] * 3, [False, False, True], [False, True, True]]
    assert draw(data, np.arange(3), 0, seed=3, passed=0).negatives.shape == (3, 0)


def test_unknown_sources_and_impossible_weights_are_refused(data: Prepared) -> None:
    assert source_weights(data, {}).tolist() == [1]
    with pytest.raises(SettingsError, match="no source citation among the triplets; there are title"):
        source_weights(data, {"citation": 1.0})
    for weights in ({"title": -1.0}, {"title": 0.0}):
        with pytest.raises(SettingsError, match="above 0"):
            source_weights(data, weights)
