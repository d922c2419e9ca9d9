"""A source is divided among machines that do not know of each other."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciret.errors import RecordError, SettingsError
from sciret.paper import Paper
from sciret.sources.shard import Shard


@given(st.text(st.characters()), st.integers(1, 40))
def test_every_id_is_in_exactly_one_shard(record_id: str, count: int) -> None:
    """Whatever characters it has."""
    assert sum(Shard(number + 1, count).has(record_id) for number in range(count)) == 1


def test_the_division_never_changes() -> None:
    """Runs of different versions and machines must agree: this is the division, for good."""
    shards = [Shard(number, 4) for number in (1, 2, 3, 4)]
    ids = ["a", "b", "10.1000/182", "arXiv:2001.00001", "é", "p1", "p2", "p3"]
    assert [next(s.number for s in shards if s.has(i)) for i in ids] == [4, 2, 1, 3, 4, 2, 1, 4]


def test_shards_are_of_about_the_same_size() -> None:
    """Also for ids that only count up."""
    sizes = [sum(Shard(number, 8).has(f"paper:{i}") for i in range(8000)) for number in range(1, 9)]
    assert sum(sizes) == 8000
    assert min(sizes) > 900
    assert max(sizes) < 1100


def test_refusals_are_divided_too() -> None:
    """By their id; without one they are the first shard's, so that each is reported once."""
    records: list[Paper | RecordError] = [
        *(Paper(f"p{i}", "Title") for i in range(20)),
        *(RecordError(f"f:{i}", "no title", record_id=f"r{i}") for i in range(20)),
        *(RecordError(f"f:{i}", "no id") for i in range(20, 25)),
    ]
    parts = [list(Shard(number, 3).select(records)) for number in (1, 2, 3)]
    assert all(parts)
    assert sorted(map(id, chain.from_iterable(parts))) == sorted(map(id, records))
    assert {f"f:{i}" for i in range(20, 25)} <= {r.where for r in parts[0] if isinstance(r, RecordError)}


def test_a_shard_is_written_as_a_fraction() -> None:
    """Counted from one, as people do."""
    assert Shard.parse("2/8") == Shard(2, 8)
    assert Shard.parse("1/1") == Shard(1, 1)


@pytest.mark.parametrize("text", ["", "3", "0/8", "9/8", "1/0", "-1/8", "1/8/2", "a/b", "1.5/8", "1 / 8"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    """With an example of one."""
    with pytest.raises(SettingsError, match="such as 2/8"):
        Shard.parse(text)
