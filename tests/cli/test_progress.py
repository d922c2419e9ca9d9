"""How far an ingest is, on a terminal and in a log."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from sciret.cli import progress
from sciret.cli.progress import Lines, count_records
from sciret.paper import Paper
from sciret.retrieval.ingest import IngestReport


def test_a_log_gets_a_line_when_time_has_passed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, with what was read and written; nothing before the time has come."""
    shown, papers = Lines(), [Paper(id=str(n), title="A") for n in range(3)]
    assert list(shown.watch(papers)) == papers
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "EVERY", 0.0)
    shown.update(IngestReport(read=3, written=2))
    told = capsys.readouterr()
    assert told.err.startswith("sciret: 3 read, 2 written, ")
    assert told.out == ""


def test_records_are_counted_where_a_line_is_one(tmp_path: Path) -> None:
    """Otherwise the total is unknown, and nobody is shown a time that was guessed."""
    (tmp_path / "a.jsonl").write_bytes(b"{}\n{}\n")
    (tmp_path / "b.csv").write_bytes(b"id,title\n1,A\n")
    (tmp_path / "c.bib").write_bytes(b"@article{a,}\n")
    assert count_records(["a.jsonl", "b.csv"]) == 4
    assert count_records(["a.jsonl", "c.bib"]) is None
    assert count_records(["-"]) is None


def test_a_terminal_gets_a_bar_and_stdout_stays_clean(tmp_path: Path) -> None:
    """Share, counts and rate on stderr; the summary alone on stdout."""
    (tmp_path / "in.jsonl").write_text('{"id": "a", "title": "A"}\n{"id": "b", "title": "B"}\n')
    here, there = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "sciret.cli.main", "ingest", "in.jsonl"],
        stdout=subprocess.PIPE,
        stderr=there,
        env={**os.environ, "COLUMNS": "100", "TERM": "xterm"},
        check=True,
    )
    os.close(there)
    drawn = os.read(here, 1 << 16).decode()
    os.close(here)
    assert "100%" in drawn
    assert "2 read, 2 written" in drawn
    assert done.stdout.startswith(b"sciret.db: 2 read, 2 written; ")
