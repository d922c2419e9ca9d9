"""TREC runs: what is written can be read, here and by others; what cannot be read is named by file and line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciret.errors import QueryError, RecordError, SettingsError
from sciret.evaluation.runs import read_run, write_run

Write = Callable[[str, str], Path]
IDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=8)
SCORES = st.floats(-1e9, 1e9)


def test_a_run_has_six_columns(tmp_path: Path) -> None:
    """Ranks count from 1, and a score from a float32 array is written as a plain number."""
    score: float = np.float32(0.5)  # type: ignore[assignment]  # what an array gives
    write_run(tmp_path / "out.trec", [("q1", {"a": 2.25, "b": score}.items()), ("q2", {"a": -1.0}.items())], "mine")
    assert (tmp_path / "out.trec").read_text() == "q1 Q0 a 1 2.25 mine\nq1 Q0 b 2 0.5 mine\nq2 Q0 a 1 -1.0 mine\n"


@settings(deadline=None)
@given(run=st.dictionaries(IDS, st.dictionaries(IDS, SCORES, min_size=1, max_size=4), max_size=4))
def test_what_is_written_is_read_again(
    run: dict[str, dict[str, float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every paper in its order, with its score as near as float32 comes, and ir-measures reads the same."""
    path = tmp_path_factory.mktemp("runs") / "out.trec"
    ranked = {qid: dict(sorted(scores.items(), key=lambda item: -item[1])) for qid, scores in run.items()}
    write_run(path, [(qid, scores.items()) for qid, scores in ranked.items()], "tag")
    found = read_run(path)
    assert {qid: list(scores) for qid, scores in found.items()} == {qid: list(s) for qid, s in ranked.items() if s}
    for qid, scores in found.items():
        assert list(scores.values()) == pytest.approx(list(ranked[qid].values()), rel=1e-5, abs=1e-30)
    rows = ir_measures.read_trec_run(str(path))  # type: ignore[no-untyped-call]  # theirs has no annotations
    theirs = {(row.query_id, row.doc_id): row.score for row in rows}
    assert theirs == {(qid, docid): score for qid, scores in found.items() for docid, score in scores.items()}


def test_equal_scores_keep_our_order_where_tools_would_change_it(tmp_path: Path) -> None:
    """trec_eval rounds to float32 and puts the larger id first among equals."""
    write_run(tmp_path / "out.trec", [("q", {"a": 0.5 + 1e-10, "b": 0.5, "c": 0.5}.items())], "tag")
    scores = [np.float32(score) for score in read_run(tmp_path / "out.trec")["q"].values()]
    assert scores == sorted(set(scores), reverse=True)


@pytest.mark.parametrize("bad", ["", "two words", "tab\there", "line\n", "no\u00a0break", "nul\0", "lone\ud800"])
@pytest.mark.parametrize("what", ["tag", "query id", "paper id"])
def test_ids_that_would_break_the_columns_are_refused(tmp_path: Path, bad: str, what: str) -> None:
    """The error says which of the ids it is, and shows it."""
    qid, docid, tag = (bad if what == each else "fine" for each in ("query id", "paper id", "tag"))
    with pytest.raises(QueryError) as caught:
        write_run(tmp_path / "out.trec", [(qid, {docid: 1.0}.items())], tag)
    assert str(caught.value).startswith(f"the {what} {bad!r} cannot stand in a TREC run")


def test_a_wrong_tag_leaves_the_file_as_it_was(write: Write) -> None:
    path = write("out.trec", "kept")
    with pytest.raises(QueryError):
        write_run(path, [], "two words")
    assert path.read_text() == "kept"


@pytest.mark.parametrize("content", ["q Q0 d 1 0.5 t\n", "q\tQ0  d 1\t0.5 t", "\ufeffq Q0 d 1 5e-1 t\r\n\r\n \r\n"])
def test_runs_of_other_tools_are_read(write: Write, content: str) -> None:
    """Tabs, runs of spaces, a byte order mark, Windows line ends, blank lines, no last line end."""
    assert read_run(write("run", content)) == {"q": {"d": 0.5}}


def test_a_compressed_run_is_read(tmp_path: Path) -> None:
    (tmp_path / "run.gz").write_bytes(gzip.compress(b"q Q0 d 1 0.5 t\n"))
    assert read_run(tmp_path / "run.gz") == {"q": {"d": 0.5}}


def test_a_compressed_run_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    """Its last queries would count as unanswered."""
    lines = "".join(f"q{n} Q0 d{n} 1 {n / 7} t\n" for n in range(2000))
    (tmp_path / "run.gz").write_bytes(gzip.compress(lines.encode())[:-500])
    with pytest.raises(RecordError, match="cut off"):
        read_run(tmp_path / "run.gz")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("q Q0 d 1 0.5", "5 columns; expected qid Q0 docid rank score tag"),
        ("q Q0 a document 1 0.5 t", "7 columns; .* no white space inside an id"),
        ("q Q0 d first 0.5 t", "the rank is 'first', not a whole number"),
        ("q Q0 d 1.5 0.5 t", "the rank is '1.5', not a whole number"),
        ("q Q0 d 1 high t", "the score is 'high', not a number"),
        ("q Q0 d 1 nan t", "the score is nan"),
        ("q Q0 d 1 -inf t", "the score is -inf"),
        ("p Q0 one 9 0.1 t", "document one is listed a second time for query p"),
    ],
)
def test_a_wrong_line_is_named(write: Write, line: str, reason: str) -> None:
    """By file and line number, blank lines counted."""
    path = write("run.trec", f"p Q0 one 1 0.5 t\n\n{line}\n")
    with pytest.raises(RecordError, match=reason) as caught:
        read_run(path)
    assert caught.value.where == f"{path}:3"


def test_bytes_that_are_not_utf8_are_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"q Q0 d 1 0.5 t\nq Q0 caf\xe9 2 0.4 t\n")
    with pytest.raises(RecordError, match="run:2: not UTF-8"):
        read_run(tmp_path / "run")


def test_a_run_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.trec: cannot be read"):
        read_run(tmp_path / "none.trec")
