"""Readers and writers at the same time, in threads of one process and in several processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from sciret.embedded import database
from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.errors import StoreError
from sciret.store import Scope

Make = Callable[[int], EncodedPaper]
WRITER = Path(__file__).parent / "writer_process.py"
BATCH = 20
BATCHES = 30


def _found(store: EmbeddedStore, paper: Make) -> int:
    """How many papers there are, by a search that every paper is found by."""
    query = EncodedQuery("common", "m", paper(0).dense, sentence_vectors=paper(0).sentence_vectors)
    found = store.candidates(query, ["bm25", "tfidf", "dense", "sentence"], 10_000, Scope())
    assert store.complete(query, found, "bm25", sentences=True).ids == found
    return len(found)


def test_threads_search_one_store_while_another_writes(tmp_path: Path, paper: Make) -> None:
    """Every search sees whole batches, never part of one, and never fewer papers than before."""
    done = threading.Event()

    def search() -> list[int]:
        seen = [0]
        while not done.is_set():
            seen.append(_found(store, paper))
        return seen

    with EmbeddedStore.open(tmp_path / "store.db", create=True) as store, ThreadPoolExecutor(3) as pool:
        searches = [pool.submit(search) for _ in range(3)]
        for batch in range(BATCHES):
            store.write([paper(batch * BATCH + number) for number in range(BATCH)])
        done.set()
        for seen in (running.result() for running in searches):
            assert all(count % BATCH == 0 for count in seen)
            assert seen == sorted(seen)
        assert _found(store, paper) == BATCH * BATCHES


def test_a_process_searches_while_another_writes(tmp_path: Path, paper: Make) -> None:
    """The store of this process follows what the other one writes, without being opened again."""
    path = tmp_path / "store.db"
    EmbeddedStore.open(path, create=True).close()
    command = [sys.executable, str(WRITER), str(path), "40"]
    with EmbeddedStore.open(path) as store, subprocess.Popen(command, stdout=subprocess.DEVNULL) as writer:
        query = EncodedQuery("paper", "m")
        seen = []
        while writer.poll() is None:
            seen.append(len(store.candidates(query, ["bm25"], 10_000, Scope())))
        assert writer.returncode == 0
        assert len(store.candidates(query, ["bm25"], 10_000, Scope())) == store.stats()["papers"]
    assert len(set(seen)) > 3, "no search ran while the other process wrote"


def test_writers_wait_for_each_other(tmp_path: Path, paper: Make) -> None:
    """Two stores on one file, each with its own thread: both finish, and everything is there."""
    path = tmp_path / "store.db"

    def fill(first: int) -> None:
        with EmbeddedStore.open(path, create=True) as store:
            for number in range(first, first + 100, 5):
                store.write([paper(n) for n in range(number, number + 5)])

    with ThreadPoolExecutor(4) as pool:
        for filled in [pool.submit(fill, first) for first in (0, 100, 200, 300)]:
            filled.result()
    with EmbeddedStore.open(path) as store:
        assert store.stats()["papers"] == 400
        assert set(store.get([f"p{n}" for n in range(400)])) == {f"p{n}" for n in range(400)}


def test_a_writer_that_waits_too_long_says_so(tmp_path: Path, paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PATIENCE", 50)
    path = tmp_path / "store.db"
    with EmbeddedStore.open(path, create=True) as store, closing(database.Database(path, create=False)) as other:
        with other.writing(), pytest.raises(StoreError, match="another process is writing"):
            store.write([paper(1)])
        assert store.write([paper(1)]) == 1


def test_a_failed_write_can_be_repeated(tmp_path: Path, paper: Make) -> None:
    """An error in the middle of a transaction undoes it and leaves the store usable."""
    with EmbeddedStore.open(tmp_path / "store.db", create=True) as store:
        connection = store._database.writing()
        connection.__enter__().execute("DELETE FROM state")
        assert not connection.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
        assert store.write([paper(1)]) == 1


def test_a_record_can_be_shown_after_its_paper_was_deleted(tmp_path: Path, paper: Make) -> None:
    """What a search has found it can show, whatever a writer does between the two."""
    with EmbeddedStore.open(tmp_path / "store.db", create=True) as store:
        store.write([paper(1), paper(2)])
        completed = store.complete(EncodedQuery("common", "m"), ["p1", "p2"], "bm25", sentences=True)
        store.delete(["p1"])
        store.write([paper(2)])
        assert [completed.load(i).paper for i in range(2)] == [paper(1).paper, paper(2).paper]
