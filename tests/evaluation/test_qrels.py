"""Judgments in both formats, and every line that is none named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sciret.errors import RecordError
from sciret.evaluation.qrels import read_qrels

Write = Callable[[str, str], Path]
EXPECTED = {"q1": {"a": 2, "b": 0}, "q2": {"a": -1}}


@pytest.mark.parametrize(
    "content",
    [
        "q1 0 a 2\nq1 0 b 0\nq2 0 a -1\n",
        "q1\t0\ta\t2\r\n\r\nq1\tQ0\tb\t0\r\nq2\tx\ta\t-1",
        "qid\tdocid\trel\nq1\ta\t2\nq1\tb\t0\nq2\ta\t-1\n",
        "\ufeff\nqid\tdocid\trel\nq1\ta\t2\n\nq2\ta\t-1\nq1\tb\t0",
    ],
)
def test_both_formats_give_the_same(write: Write, content: str) -> None:
    """TREC's second column is not used; lines of a query need not stand together."""
    assert read_qrels(write("qrels", content)) == EXPECTED


def test_the_examples_are_judged() -> None:
    """The file that ships with sciret is in the second format."""
    qrels = read_qrels(Path(__file__).parents[2] / "examples" / "qrels.tsv")
    assert qrels["q01"]["ex-002"] == 2


@pytest.mark.parametrize(
    ("first", "line", "reason"),
    [
        ("qid docid rel", "q1 0 a 1", "4 columns; expected qid docid rel"),
        ("qid docid rel", "q1 a", "2 columns; expected qid docid rel"),
        ("q9 0 z 1", "q1 a 1", "3 columns; expected qid iteration docid rel"),
        ("q9 0 z 1", "q1 0 a 1.0", "the relevance is '1.0'; expected a whole number"),
        ("q9 0 z 1", "q1 0 a yes", "the relevance is 'yes'"),
        ("q9 0 z 1", "q1 0 a 1_0", "the relevance is '1_0'"),
        ("q9 0 z 1", "q1 0 a 4000000000", "at most 999"),
        ("q9 0 z 1", "q9 0 z 1", "document z is judged a second time for query q9"),
    ],
)
def test_a_wrong_line_is_named(write: Write, first: str, line: str, reason: str) -> None:
    path = write("qrels.tsv", f"{first}\n{line}\n")
    with pytest.raises(RecordError, match=reason) as caught:
        read_qrels(path)
    assert caught.value.where == f"{path}:2"


@pytest.mark.parametrize("content", ["", "\n\n", "qid\tdocid\trel\n"])
def test_a_file_without_judgments_is_refused(write: Write, content: str) -> None:
    """Every figure over no queries would be meaningless."""
    with pytest.raises(RecordError, match="no judgments in it"):
        read_qrels(write("qrels.tsv", content))
