"""The inverted index: blocks, merging, and features of any name."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sciret.embedded import postings, schema

FEATURES = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ["\0", "a\0", "a\0b", "a", "a%", "a' OR '1'='1", "x" * 1000, "é", "e\u0301", "A"]
)


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(":memory:", isolation_level=None)
    schema.create(opened)
    yield opened
    opened.close()


def _write(connection: sqlite3.Connection, first: int, features: Sequence[Mapping[str, float]]) -> None:
    rows = [(num, f"id{num}") for num in range(first, first + len(features))]
    connection.executemany("INSERT INTO papers VALUES (?, ?, '', 0, 0, 0)", rows)
    postings.add(connection, first, {"words": features})
    postings.settle(connection)


def _read(connection: sqlite3.Connection, feature: str) -> list[tuple[int, float]]:
    return [(int(num), float(weight)) for num, weight in postings.read(connection, "words", feature)]


def _blocks(connection: sqlite3.Connection) -> list[int]:
    return [papers for (papers,) in connection.execute("SELECT papers FROM blocks ORDER BY block")]


def test_postings_ascend_over_all_blocks(connection: sqlite3.Connection) -> None:
    for num in range(1, 101):
        _write(connection, num, [{"all": num, f"only{num}": 1}])
    assert _read(connection, "all") == [(num, float(num)) for num in range(1, 101)]
    assert _read(connection, "only42") == [(42, 1.0)]
    assert _read(connection, "none") == []


def test_postings_are_counted_over_all_blocks(connection: sqlite3.Connection) -> None:
    for num in range(1, 21):
        _write(connection, num, [{"all": 1.0, f"only{num}": 1.0}])
    sql = f"SELECT {postings.counted('words')}, {postings.counted('tokens')}"
    assert connection.execute(sql).fetchone() == (40, 0)


def test_blocks_stay_few_and_papers_are_rewritten_rarely(connection: sqlite3.Connection) -> None:
    """Both grow with the logarithm of the number of papers, one at a time or in batches of changing size."""
    written: list[int] = []
    connection.set_trace_callback(lambda sql: written.append(1) if sql.startswith("INSERT INTO postings") else None)
    num = 1
    for size in [1] * 600 + [1, 50] * 40:
        _write(connection, num, [{"all": 1.0}] * size)
        num += size
    assert sum(_blocks(connection)) == num - 1
    assert len(_blocks(connection)) <= 4 * postings.FAN
    assert len(written) < 680 * 2  # one row for each write, and one for each merge


def test_channels_are_kept_apart(connection: sqlite3.Connection) -> None:
    _write(connection, 1, [{"a": 1}])
    assert len(postings.read(connection, "tokens", "a")) == 0


def test_dead_papers_leave_the_index_when_they_are_many(connection: sqlite3.Connection) -> None:
    """Below the share they stay, above it everything is rewritten and what lived keeps its postings."""
    _write(connection, 1, [{"all": 1, f"only{num}": 1} for num in range(100)])
    connection.execute("DELETE FROM papers WHERE num <= 20")
    postings.settle(connection)
    assert len(_read(connection, "all")) == 100
    connection.execute("DELETE FROM papers WHERE num <= 30")
    postings.settle(connection)
    assert [num for num, _ in _read(connection, "all")] == list(range(31, 101))
    assert connection.execute("SELECT count(*) FROM postings").fetchone()[0] == 71
    assert _blocks(connection) == [70]


def test_an_index_may_lose_all_its_papers(connection: sqlite3.Connection) -> None:
    _write(connection, 1, [{"a": 1}] * 10)
    connection.execute("DELETE FROM papers")
    postings.settle(connection)
    assert _read(connection, "a") == []
    _write(connection, 11, [{"a": 2}])
    assert _read(connection, "a") == [(11, 2.0)]


def test_papers_without_features_are_counted(connection: sqlite3.Connection) -> None:
    for num in range(1, 20):
        _write(connection, num, [{}])
    assert sum(_blocks(connection)) == 19


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(st.dictionaries(FEATURES, st.integers(1, 9), max_size=4), max_size=3), max_size=12))
def test_any_text_is_a_feature(connection: sqlite3.Connection, batches: list[list[dict[str, float]]]) -> None:
    """NULs, quotes, a thousand letters, look-alikes: every feature keeps its own postings through merges."""
    for table in ("papers", "blocks", "postings"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608
    expected: dict[str, list[tuple[int, float]]] = {}
    num = 1
    for batch in filter(None, batches):
        _write(connection, num, batch)
        for features in batch:
            for feature, weight in features.items():
                expected.setdefault(feature, []).append((num, float(weight)))
            num += 1
    assert {feature: _read(connection, feature) for feature in expected} == expected
