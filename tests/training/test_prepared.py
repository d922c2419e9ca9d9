"""Triplets and papers become arrays and mapped texts: complete, reusable, and refused where they do not fit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sciret.errors import RecordError, SettingsError
from sciret.training.corpus import Corpus, write_corpus
from sciret.training.prepared import prepare
from sciret.training.triplets import read_triplets

from .conftest import WriteJsonl

PAPERS = [{"id": f"p{i}", "title": f"Title {i}", "abstract": f"Abstract {i}."} for i in range(6)]
PAPERS[4]["abstract"] = ""


def triplet(query: str, positive: str, *negatives: str, **more: Any) -> dict[str, Any]:
    return {"source": "title", "query": query, "positive": positive, "negatives": list(negatives), **more}


ROWS = [
    triplet("first", "p3", "p1", "p4", weight=2.0, scores=[0.9, 0.5, 0.1]),
    triplet("second", "p1", source="citation", split="dev"),
    triplet("third", "p0", "p3"),
]


def test_texts_come_back_as_they_went(tmp_path: Path) -> None:
    """Also empty ones, such with a NUL, and a lone surrogate, which becomes a question mark."""
    texts = [("Ünïcode", "abstract"), ("", ""), ("a\0b", ""), ("\ud800", "x"), ("", "only this")]
    write_corpus(tmp_path, "texts", texts)
    corpus = Corpus(tmp_path, "texts")
    assert len(corpus) == 5
    assert corpus.take([4, 0, 1]) == [("", "only this"), ("Ünïcode", "abstract"), ("", "")]
    assert corpus[2] == ("a b", "")
    assert corpus[3] == ("?", "x")


def test_rows_are_joined_with_their_papers(tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    data = prepare(write_jsonl("t.jsonl", ROWS), [write_jsonl("p.jsonl", PAPERS)], tmp_path / "data")
    assert [data.queries[i][0] for i in range(3)] == ["first", "second", "third"]
    assert data.papers[data.positives[0]] == ("Title 3", "Abstract 3.")
    negatives = data.negatives[data.starts[0] : data.starts[1]]
    assert data.papers.take(negatives) == [("Title 1", "Abstract 1."), ("Title 4", "")]
    assert len(data.papers) == 4  # p2 and p5 are named by no triplet
    assert data.scores[:3].tolist() == [np.float32(0.9), np.float32(0.5), np.float32(0.1)]
    assert all(math.isnan(score) for score in data.scores[3:])
    assert data.weights.tolist() == [2, 1, 1]
    assert data.rows("dev").tolist() == [1]
    assert data.counts() == {"train": {"title": 2, "citation": 0}, "dev": {"title": 0, "citation": 1}}


def test_data_is_made_once_and_anew_when_a_file_changed(tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    papers = write_jsonl("p.jsonl", PAPERS)
    folder = prepare(write_jsonl("t.jsonl", ROWS), [papers], tmp_path / "data").folder
    made = (folder / "prepared.json").stat().st_mtime_ns
    prepare(tmp_path / "t.jsonl", [papers], folder)
    assert (folder / "prepared.json").stat().st_mtime_ns == made
    again = prepare(write_jsonl("t.jsonl", ROWS[:1]), [papers], folder)
    assert len(again.positives) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "p.jsonl", "t.jsonl"]


def test_a_paper_that_is_missing_is_named_with_the_line(tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    rows = [*ROWS, triplet("fourth", "p1", "p9"), triplet("fifth", "p8")]
    with pytest.raises(RecordError, match=r"t\.jsonl:4: the paper 'p9' is in none of .* or not open, nor are 1 others"):
        prepare(write_jsonl("t.jsonl", rows), [write_jsonl("p.jsonl", PAPERS)], tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_no_triplets_are_refused(tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    with pytest.raises(SettingsError, match="sciret train mine"):
        prepare(write_jsonl("t.jsonl", []), [write_jsonl("p.jsonl", PAPERS)], tmp_path / "data")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"query": "q", "positive": "p1"}, "source is missing; a text is expected, such as"),
        ({"source": "title", "query": "q"}, "positive is missing; a text is expected, the id"),
        (triplet(" ", "p1"), "query is ' '; a text is expected"),
        ({**triplet("q", "p1"), "positive": 7}, "positive is 7; a text is expected"),
        ({**triplet("q", "p1"), "negatives": "p2"}, "negatives is 'p2'; a list is expected"),
        ({**triplet("q", "p1"), "negatives": [2]}, "negatives has 2; ids of papers are expected"),
        (triplet("q", "p1", weight="high"), "weight is or has 'high'; a number is expected"),
        (triplet("q", "p1", weight=None), "weight is or has None; a number is expected"),
        (triplet("q", "p1", split="later"), "split is 'later'"),
        (triplet("q", "p1", weight=0), r"weight is 0\.0"),
        (triplet("q", "p1", "p1"), "among the negatives"),
        (triplet("q", "p1", "p2", scores=[1.0]), "1 scores for 1 positive and 1 negatives"),
        (triplet("q", "p1", scores=["high"]), "scores is or has 'high'; a number is expected"),
    ],
)
def test_an_unusable_line_is_refused_with_its_number(row: dict[str, Any], reason: str, write_jsonl: WriteJsonl) -> None:
    path = write_jsonl("t.jsonl", [ROWS[0], row])
    with pytest.raises(RecordError, match=rf"t\.jsonl:2: .*{reason}"):
        list(read_triplets(path))


@pytest.mark.parametrize(
    ("line", "reason"), [("{", "not JSON: "), ("[]", "not a JSON object"), ("\\xff", "not JSON: ")]
)
def test_a_line_that_is_no_object_is_refused(line: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(RecordError, match=rf"t\.jsonl:1: not a training triplet, .*{reason}"):
        list(read_triplets(tmp_path / "t.jsonl"))
