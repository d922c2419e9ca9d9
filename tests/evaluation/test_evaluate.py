"""Runs compared: names, means, counts, and the first run as the measure of the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sciret.errors import QueryError, RecordError
from sciret.evaluation.evaluate import Figure, evaluate

Write = Callable[[str, str], Path]
QUERIES = range(20)


@pytest.fixture
def qrels(write: Write) -> Path:
    """Twenty queries, each with one relevant paper."""
    return write("qrels.tsv", "qid\tdocid\trel\n" + "".join(f"q{n}\tgood\t1\n" for n in QUERIES))


def run(write: Write, name: str, rank: Callable[[int], int]) -> Path:
    """A run that has the relevant paper of query n at rank(n)."""
    rows = [(n, place) for n in QUERIES for place in range(1, 6)]
    docs = ["good" if place == rank(n) else f"d{place}" for n, place in rows]
    lines = (f"q{n} Q0 {doc} {place} {-place} t\n" for (n, place), doc in zip(rows, docs, strict=True))
    return write(name, "".join(lines))


def test_means_over_all_judged_queries(qrels: Path, write: Write) -> None:
    """The relevant paper first for half of the queries and second for the others."""
    evaluation = evaluate(qrels, [run(write, "half.trec", lambda n: 1 + n % 2)])
    assert evaluation.measures == ("nDCG@10", "MAP", "P@10", "R@100", "MRR")
    assert evaluation.queries == 20
    (row,) = evaluation.rows
    assert (row.run, row.unanswered, row.unjudged) == (str(qrels.parent / "half.trec"), 0, 0)
    assert row.figures["MRR"].mean == pytest.approx(0.75)
    assert row.figures["MAP"].mean == pytest.approx(0.75)
    assert row.figures["R@100"] == Figure(1.0, 1.0, 1.0, None, None)
    assert 0.6 < row.figures["MRR"].low < 0.7
    assert 0.8 < row.figures["MRR"].high < 0.9


def test_other_runs_are_compared_with_the_first(qrels: Path, write: Write) -> None:
    """A worse one differs downward with a small p, an equal one not at all; the first has no comparison."""
    best, same = run(write, "best", lambda _: 1), run(write, "same", lambda _: 1)
    worse = run(write, "worse", lambda _: 2)
    first, second, third = evaluate(qrels, [best, worse, same]).rows
    assert (first.figures["MRR"].difference, first.figures["MRR"].p) == (None, None)
    assert second.figures["MRR"].difference == pytest.approx(-0.5)
    assert second.figures["MRR"].p == pytest.approx(0.0001, abs=0.0005)
    assert (second.figures["R@100"].difference, second.figures["R@100"].p) == (0.0, 1.0)
    assert {(figure.difference, figure.p) for figure in third.figures.values()} == {(0.0, 1.0)}


def test_queries_are_matched_not_lined_up(qrels: Path, write: Write) -> None:
    """The same run with its queries in another order is the same run."""
    straight = run(write, "straight", lambda n: 1 + n % 3)
    shuffled = write("shuffled", "".join(sorted(straight.read_text().splitlines(keepends=True))))
    _, row = evaluate(qrels, [straight, shuffled]).rows
    assert row.figures["MRR"].difference == 0.0


def test_missing_queries_count_as_zero_and_others_not_at_all(qrels: Path, write: Write) -> None:
    """Both are counted in the row."""
    part = write("part", "q0 Q0 good 1 1.0 t\nelse Q0 good 1 1.0 t\nmore Q0 good 1 1.0 t\n")
    (row,) = evaluate(qrels, [part]).rows
    assert (row.unanswered, row.unjudged) == (19, 2)
    assert row.figures["MRR"].mean == pytest.approx(1 / 20)


@pytest.mark.parametrize("content", ["other Q0 good 1 1.0 t\n", ""])
def test_a_run_of_another_collection_is_refused(qrels: Path, write: Write, content: str) -> None:
    """Zeros everywhere would look like a result. So would those of an empty file."""
    with pytest.raises(QueryError, match="judges none of its"):
        evaluate(qrels, [write("foreign", content)])


def test_a_broken_run_is_named(qrels: Path, write: Write) -> None:
    with pytest.raises(RecordError, match=r"broken\.trec:1: 1 columns"):
        evaluate(qrels, [run(write, "fine", lambda _: 1), write("broken.trec", "nonsense\n")])


def test_an_evaluation_is_json(qrels: Path, write: Write) -> None:
    """Plain values all through, and the same every time."""
    runs = [run(write, "a", lambda n: 1 + n % 2), run(write, "b", lambda n: 1 + n % 3)]
    record = evaluate(qrels, runs).to_dict()
    assert (
        json.loads(json.dumps(record, allow_nan=False))["rows"][1]["figures"]["MAP"]
        == record["rows"][1]["figures"]["MAP"]
    )
    assert evaluate(qrels, runs).to_dict() == record
