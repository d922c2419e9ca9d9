"""What a write and a delete do to the tables, within a transaction that the caller has begun."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from sciret.embedded import postings
from sciret.embedded.records import Row, ids_as_json


def put(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Insert or replace. A paper that is replaced gets a new num, like any other."""
    _remove(connection, [row.id for row in rows])
    first = 1 + connection.execute("SELECT last_num FROM state").fetchone()[0]
    numbered = list(enumerate(rows, first))
    _insert(connection, "papers", [(n, r.id, r.hash, r.words, r.norm, r.sentences) for n, r in numbered])
    _insert(connection, "facets", [(n, *r.facets) for n, r in numbered])
    _insert(connection, "records", [(n, r.record) for n, r in numbered])
    _insert(connection, "dense", [(n, r.dense) for n, r in numbered if r.dense is not None])
    _insert(connection, "sentences", [(n, r.sentence_vectors) for n, r in numbered if r.sentence_vectors is not None])
    features = [row.features for row in rows]
    postings.add(connection, first, {channel: [each[channel] for each in features] for channel in features[0]})
    connection.execute("UPDATE state SET last_num = ?", (numbered[-1][0],))
    _finish(connection)


def remove(connection: sqlite3.Connection, ids: Sequence[str]) -> int:
    """Delete the papers that there are; how many. A store that has lost its last one may take any model again."""
    removed = _remove(connection, ids)
    if not connection.execute("SELECT EXISTS (SELECT 1 FROM papers)").fetchone()[0]:
        connection.execute("UPDATE state SET model = NULL, dims = NULL")
    if removed:
        _finish(connection)
    return removed


def _remove(connection: sqlite3.Connection, ids: Sequence[str]) -> int:
    """The other tables follow; what the index says of the papers stays until it is rewritten."""
    return connection.execute(
        "DELETE FROM papers WHERE id IN (SELECT value FROM json_each(?))", (ids_as_json(ids),)
    ).rowcount


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        places = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608  # no values in it


def _finish(connection: sqlite3.Connection) -> None:
    postings.settle(connection)
    connection.execute("UPDATE state SET generation = generation + 1")
