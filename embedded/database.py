"""One SQLite file with one connection to read and one to write, so that readers never wait for a writer."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock

from sciret.embedded import schema
from sciret.errors import StoreError

PATIENCE = 60_000
"""Milliseconds that a writer waits for another one."""

_REMEDIES = {
    "SQLITE_BUSY": "another process is writing to it; try again when it has finished",
    "SQLITE_FULL": "the disk is full; free some space and run the command again: what was written is kept",
    "SQLITE_READONLY": "it cannot be written to; check the permissions of the file and its folder",
    "SQLITE_CANTOPEN": "it cannot be opened; check the permissions of the file and its folder",
    "SQLITE_NOTADB": "it is not a store of sciret; name another file with --store",
    "SQLITE_CORRUPT": "the file is damaged; restore it from a backup, or ingest into a new one",
    "SQLITE_IOERR": "the disk failed to read or write it; check the disk, then run the command again",
}


class Database:
    """Reading is a snapshot: what a writer does meanwhile is seen by the next one. Both may be used by any thread."""

    def __init__(self, path: Path, *, create: bool) -> None:
        self.path = path
        self._reading = Lock()
        self._writing = Lock()
        self._writer: sqlite3.Connection | None = None
        self._closed = False
        _refuse_non_store(path, create)
        with self._explained():
            if create:
                _create(path)
            self._reader = _open(path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the file."""
        with self._reading, self._explained():
            self._refuse_closed()
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                if self._reader.in_transaction:  # an error of the disk has ended it already
                    self._reader.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; when it ends without an error, the changes are on the disk."""
        with self._writing, self._explained():
            self._refuse_closed()
            self._writer = self._writer or _connect(self.path, "mode=rw")
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            finally:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")

    def bytes_on_disk(self) -> int:
        """The file and its write-ahead log."""
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """Idempotent. The last connection to close moves the write-ahead log into the file and removes it."""
        with self._writing, self._reading:
            self._closed = True
            self._reader.close()
            if self._writer:
                self._writer.close()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError(f"{self.path} was closed; open it again")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            remedy = next((text for prefix, text in _REMEDIES.items() if name.startswith(prefix)), None)
            raise StoreError(f"{self.path}: {remedy or error}") from error


def _refuse_non_store(path: Path, create: bool) -> None:
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file in it with --store")
    if not create and (not path.exists() or not path.stat().st_size):
        raise StoreError(f"no store at {path}: `sciret ingest` makes one")
    if not path.parent.is_dir():
        raise StoreError(f"no folder {path.parent} to put the store {path.name} into: make it first")


def _create(path: Path) -> None:
    with closing(_connect(path, "mode=rwc")) as connection:
        if schema.is_empty(connection):
            schema.create(connection)


def _open(path: Path) -> sqlite3.Connection:
    connection = _connect(path, _reading_mode(path))
    try:
        schema.check(connection, str(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _reading_mode(path: Path) -> str:
    """A reader of a write-ahead log keeps marks beside the file; where it must not, nothing else can write either.

    With a log that was left there by another user's process the marks are there too, and need not be made.
    """
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return "mode=rw"
    return "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """Statements commit by themselves unless a transaction was begun. Both locks above guard the threads."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.execute(f"PRAGMA busy_timeout = {PATIENCE}")
    connection.execute("PRAGMA synchronous = FULL")  # an acknowledged write survives the loss of power
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA mmap_size = 2147418112")  # the most that SQLite takes; beyond it files are read
    return connection
