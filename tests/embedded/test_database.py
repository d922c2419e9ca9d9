"""Opening files: what is refused with which remedy, and what is left on the disk."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sciret.embedded import schema
from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.errors import StoreError
from sciret.store import Scope

Make = Callable[[int], EncodedPaper]
QUERY = EncodedQuery("common", "m")

READ_ONLY = """
import os, sys
import Stemmer
from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedQuery
from sciret.errors import StoreError
from sciret.store import Scope
if os.getuid() == 0:
    os.setuid(65534)  # root may write anywhere; after the imports, because Python may be installed for root only
with EmbeddedStore.open(sys.argv[1]) as store:
    print(len(store.candidates(EncodedQuery("common", "m"), ["bm25"], 5, Scope())))
    try:
        store.delete(["p1"])
    except StoreError as error:
        print(error)
"""


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no store at .*gone\.db: `sciret ingest` makes one"):
        EmbeddedStore.open(tmp_path / "gone.db")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_no_store_but_may_become_one(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreError, match="sciret ingest"):
        EmbeddedStore.open(tmp_path / "empty.db")
    with EmbeddedStore.open(tmp_path / "empty.db", create=True) as store:
        assert store.stats()["papers"] == 0


def test_a_file_whose_making_was_interrupted_is_finished(tmp_path: Path) -> None:
    """Killed after SQLite's first page was written and before the first table was."""
    connection = sqlite3.connect(tmp_path / "half.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    assert (tmp_path / "half.db").stat().st_size > 0
    with EmbeddedStore.open(tmp_path / "half.db", create=True) as store:
        assert store.stats()["papers"] == 0


@pytest.mark.parametrize("create", [False, True])
def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path, create: bool) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 500)
    with pytest.raises(StoreError, match="not a store of sciret; name another file"):
        EmbeddedStore.open(path, create=create)
    assert path.read_text() == "Dear diary, " * 500


@pytest.mark.parametrize("create", [False, True])
def test_a_database_of_another_application_is_refused_and_kept(tmp_path: Path, create: bool) -> None:
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE papers (secret)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="belongs to another application"):
        EmbeddedStore.open(path, create=create)
    assert path.read_bytes() == before


@pytest.mark.parametrize("create", [False, True])
def test_a_newer_schema_is_refused(tmp_path: Path, create: bool) -> None:
    EmbeddedStore.open(tmp_path / "new.db", create=True).close()
    connection = sqlite3.connect(tmp_path / "new.db")
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()
    with pytest.raises(StoreError, match="upgrade sciret"):
        EmbeddedStore.open(tmp_path / "new.db", create=create)


def test_a_folder_and_a_place_in_no_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        EmbeddedStore.open(tmp_path, create=True)
    with pytest.raises(StoreError, match="make it first"):
        EmbeddedStore.open(tmp_path / "no" / "folder.db", create=True)


def test_a_damaged_file_is_reported(tmp_path: Path, paper: Make) -> None:
    path = tmp_path / "store.db"
    with EmbeddedStore.open(path, create=True) as store:
        store.write([paper(number) for number in range(200)])
    content = bytearray(path.read_bytes())
    content[schema.PAGE :] = b"\xff" * (len(content) - schema.PAGE)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"), EmbeddedStore.open(path) as store:
        store.candidates(QUERY, ["bm25"], 5, Scope())


def test_names_with_url_characters_are_files(tmp_path: Path, paper: Make) -> None:
    path = tmp_path / "what? 100%#1&mode=ro é.db"
    with EmbeddedStore.open(path, create=True) as store:
        store.write([paper(1)])
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_closed_store_is_one_file(tmp_path: Path, paper: Make) -> None:
    """So that copying the file copies the store."""
    with EmbeddedStore.open(tmp_path / "store.db", create=True) as store:
        store.write([paper(1)])
        store.candidates(QUERY, ["bm25"], 5, Scope())
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]


def test_a_store_that_cannot_be_written_to_can_be_searched(tmp_path: Path, paper: Make) -> None:
    """By a user who may only read: searching works and leaves nothing behind; writing says what to check."""
    with EmbeddedStore.open(tmp_path / "store.db", create=True) as store:
        store.write([paper(number) for number in range(3)])
    _let_anyone_pass(tmp_path)
    tmp_path.chmod(0o555)
    (tmp_path / "store.db").chmod(0o444)
    command = [sys.executable, "-c", READ_ONLY, str(tmp_path / "store.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    tmp_path.chmod(0o755)
    assert done.stdout.splitlines()[0] == "3", done.stderr
    assert "cannot be" in done.stdout.splitlines()[1]
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]


def _let_anyone_pass(path: Path) -> None:
    """pytest makes its folders for their owner only, and the script gives up being root."""
    if os.getuid() == 0:
        for folder in (path.parent, path.parent.parent):
            folder.chmod(0o755)
