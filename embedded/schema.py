"""The tables of a store's file, and how a file is recognised as one.

    state       one row: generation (grows with every write), the highest `num` ever given, model, dimensions
    papers      what every search needs to know of each paper; small, so that reading all of it is quick
    facets      what conditions are asked of, case-folded; a list is one JSON string a line, so that `instr` finds
                a member exactly and without parsing
    records     the paper as JSON with its sentences, roles and sparse parts
    dense, sentences    vectors as fp16, one row a paper
    blocks, postings    the inverted index: see `postings.py`

A paper that is written again gets a new `num`: what the index says of the old one is recognised as dead.
"""

from __future__ import annotations

import sqlite3

from sciret.errors import StoreError
from sciret.store import LISTS, TEXTS

APPLICATION_ID = 0x53434954  # "SCIT"
VERSION = 1
PAGE = 16_384
"""Bytes. The sentence vectors of a paper mostly fit into one page of this size: a third off the time to read them."""

FACETS = ("year", *TEXTS, *LISTS)

_TABLES = f"""
CREATE TABLE state (generation INTEGER NOT NULL, last_num INTEGER NOT NULL, model TEXT, dims INTEGER);
INSERT INTO state VALUES (0, 0, NULL, NULL);
CREATE TABLE papers (
    num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, hash TEXT NOT NULL,
    words INTEGER NOT NULL, norm REAL NOT NULL, sentences INTEGER NOT NULL);
CREATE TABLE facets (
    num INTEGER PRIMARY KEY REFERENCES papers ON DELETE CASCADE,
    year INTEGER, {", ".join(f'"{name}" TEXT NOT NULL' for name in (*TEXTS, *LISTS))});
CREATE INDEX not_open ON facets (access, embargo_end) WHERE access <> 'open';
CREATE TABLE records (num INTEGER PRIMARY KEY REFERENCES papers ON DELETE CASCADE, record TEXT NOT NULL);
CREATE TABLE dense (num INTEGER PRIMARY KEY REFERENCES papers ON DELETE CASCADE, vectors BLOB NOT NULL);
CREATE TABLE sentences (num INTEGER PRIMARY KEY REFERENCES papers ON DELETE CASCADE, vectors BLOB NOT NULL);
CREATE TABLE blocks (block INTEGER PRIMARY KEY, papers INTEGER NOT NULL);
CREATE TABLE postings (
    block INTEGER NOT NULL, channel TEXT NOT NULL, feature TEXT NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (block, channel, feature)) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
"""  # noqa: S608  # names and numbers of ours, no values


def is_empty(connection: sqlite3.Connection) -> bool:
    """A new file, or one whose making was interrupted before there was a table in it."""
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def create(connection: sqlite3.Connection) -> None:
    """Make the tables unless another process was quicker."""
    connection.execute(f"PRAGMA page_size = {PAGE}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    if is_empty(connection):
        for statement in filter(str.strip, _TABLES.split(";")):
            connection.execute(statement)
    connection.execute("COMMIT")


def check(connection: sqlite3.Connection, where: str) -> None:
    """Refuse a file that is not a store, or that a newer sciret has made."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreError(f"{where} belongs to another application, not to sciret: name another file with --store")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise StoreError(f"{where} has schema {version}, this sciret knows {VERSION}: upgrade sciret to use it")
