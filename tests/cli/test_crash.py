"""`sciret ingest` killed at random points: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from sciret.embedded.store import EmbeddedStore

KILLS = 20
PAPERS = 900


def _corpus(path: Path) -> list[str]:
    """Titles only, so that many papers and many transactions pass between two kills."""
    ids = [f"p{number}" for number in range(PAPERS)]
    lines = (json.dumps({"id": paper, "title": f"Measurement {paper} of rivers and lakes"}) for paper in ids)
    path.write_text("\n".join(lines), encoding="utf-8")
    return ids


def _ingest(corpus: Path, store: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sciret.cli.main", "ingest", str(corpus), "--store", str(store)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _wait_for_growth(process: subprocess.Popen[bytes], store: Path, papers: int) -> None:
    """Until so many papers are acknowledged: a kill before the first one would only test starting up."""
    while process.poll() is None:
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as reader:
            if reader.execute("SELECT count(*) FROM papers").fetchone()[0] >= papers:
                return
        time.sleep(0.01)


def _stored(path: Path) -> set[str]:
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = [row[0] for row in connection.execute("SELECT id FROM papers")]
    assert len(rows) == len(set(rows))
    return set(rows)


def test_an_ingest_killed_twenty_times_ends_up_whole(tmp_path: Path) -> None:
    """Each run continues where the one before was killed, and the end is that of a run nobody disturbed."""
    ids = _corpus(tmp_path / "papers.jsonl")
    killed, undisturbed = tmp_path / "killed.db", tmp_path / "undisturbed.db"
    chance = random.Random(20)
    before: set[str] = set()
    for _ in range(KILLS):
        process = _ingest(tmp_path / "papers.jsonl", killed)
        _wait_for_growth(process, killed, len(before) + chance.choice((0, 1)))
        time.sleep(chance.uniform(0, 0.6))
        process.kill()
        process.communicate()
        after = _stored(killed) if killed.exists() and killed.stat().st_size else before
        assert before <= after
        before = after
    for store in (killed, undisturbed):
        process = _ingest(tmp_path / "papers.jsonl", store)
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        assert _stored(store) == set(ids)
    _assert_equal(killed, undisturbed, ids)


def _assert_equal(left: Path, right: Path, ids: list[str]) -> None:
    with EmbeddedStore.open(left) as one, EmbeddedStore.open(right) as other:
        ours, theirs = one.get(ids), other.get(ids)
        for paper in ids:
            assert ours[paper].paper == theirs[paper].paper
            np.testing.assert_array_equal(ours[paper].dense, theirs[paper].dense)
        figures = ("papers", "sentences", "words", "features")
        assert [one.stats()[name] for name in figures] == [other.stats()[name] for name in figures]
