"""Killed at any moment, a store has lost nothing that it acknowledged, and nothing is in it twice or by halves."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedQuery
from sciret.store import Scope

WRITER = Path(__file__).parent / "writer_process.py"
STEPS = 150
KILLS = 20
TABLES = ("papers", "facets", "records", "dense", "sentences")


def test_twenty_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    """Each kill leaves the state before or after the step under way, and the next run goes on from there."""
    path, chance = tmp_path / "killed.db", random.Random(11)
    state: dict[str, str] = {}
    for _ in range(KILLS):
        lines = _kill_after(chance.randrange(1, 30), chance.uniform(0, 0.012), path)
        state, pending = _replay(lines, state)
        stored = _stored(path)
        assert stored in (state, _after(state, pending))
        state = stored
    assert len(state) > 500, "the kills came before anything was written"
    undisturbed = tmp_path / "undisturbed.db"
    for file in (path, undisturbed):
        subprocess.run([sys.executable, WRITER, file, str(STEPS)], check=True, stdout=subprocess.DEVNULL)
    assert _stored(path) == _stored(undisturbed)
    _assert_same_answers(path, undisturbed)


def _kill_after(lines: int, delay: float, path: Path) -> list[str]:
    """Start the writer, wait for so many lines and a moment longer, kill it; everything that it has said."""
    with subprocess.Popen([sys.executable, WRITER, path, str(STEPS)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(lines)]
        time.sleep(delay)
        writer.kill()
        said.extend(writer.stdout)
    assert writer.returncode == -9, "the writer had finished before it could be killed"
    return [line.strip() for line in said if line.endswith("\n")]


def _replay(lines: list[str], state: dict[str, str]) -> tuple[dict[str, str], Mapping[str, str | None]]:
    """The state that was acknowledged, and the step that was announced and not acknowledged."""
    pending: Mapping[str, str | None] = {}
    for line in lines:
        state, pending = (_after(state, pending), {}) if line == "done" else (state, json.loads(line))
    return state, pending


def _after(state: Mapping[str, str], step: Mapping[str, str | None]) -> dict[str, str]:
    merged = {**state, **step}
    return {paper_id: content for paper_id, content in merged.items() if content is not None}


def _stored(path: Path) -> dict[str, str]:
    """Ids and hashes of all papers, after checking that the file is sound and its tables agree."""
    EmbeddedStore.open(path, create=True).close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    papers = connection.execute("SELECT id, hash FROM papers").fetchall()
    counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES]  # noqa: S608
    connection.close()
    assert set(counts) == {len(papers)}
    assert len(dict(papers)) == len(papers)
    return dict(papers)


def _assert_same_answers(left: Path, right: Path) -> None:
    vector = np.random.default_rng(1).standard_normal(32).astype(np.float32)
    query = EncodedQuery("word3 word14 word50", "m", vector, sentence_vectors=vector[None])
    with EmbeddedStore.open(left) as mine, EmbeddedStore.open(right) as theirs:
        for channel in ("bm25", "tfidf", "dense", "sentence"):
            found = mine.candidates(query, [channel], 5000, Scope())
            assert found == theirs.candidates(query, [channel], 5000, Scope())
        scores = [store.complete(query, found, "bm25", sentences=False) for store in (mine, theirs)]
        np.testing.assert_array_equal(scores[0].sparse, scores[1].sparse)
