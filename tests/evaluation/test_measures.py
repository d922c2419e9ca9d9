"""The five measures: by hand, against ir-measures' own path from file to figure, and at the edges."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from pathlib import Path

import ir_measures
import pytest

from sciret.errors import MissingExtraError
from sciret.evaluation.measures import MEASURES, measure
from sciret.evaluation.qrels import read_qrels
from sciret.evaluation.runs import Run, read_run

Write = Callable[[str, str], Path]


def values(qrels: dict[str, dict[str, int]], run: Run) -> dict[str, float]:
    """The first query's."""
    return dict(zip(MEASURES, measure(qrels, run)[0].tolist(), strict=True))


def test_the_measures_by_hand() -> None:
    """Relevant at ranks 2 (grade 2) and 4 (grade 1), and one relevant paper (grade 1) not found."""
    qrels = {"q": {"a": 2, "b": 1, "c": 1, "x": 0}}
    run = {"q": {"x": 0.9, "a": 0.8, "y": 0.7, "b": 0.6}}
    gain = 2 / math.log2(3) + 1 / math.log2(5)
    ideal = 2 + 1 / math.log2(3) + 1 / math.log2(4)
    expected = {"nDCG@10": gain / ideal, "MAP": (1 / 2 + 2 / 4) / 3, "P@10": 2 / 10, "R@100": 2 / 3, "MRR": 1 / 2}
    assert values(qrels, run) == pytest.approx(expected, abs=1e-12)


def test_the_cutoffs_are_where_the_names_say() -> None:
    """Relevant papers at ranks 11 and 101: the first is beyond nDCG@10 and P@10, the second also beyond R@100."""
    run = {"q": {f"d{rank:03}": 1000.0 - rank for rank in range(1, 201)}}
    expected = {"nDCG@10": 0.0, "MAP": (1 / 11 + 2 / 101) / 2, "P@10": 0.0, "R@100": 1 / 2, "MRR": 1 / 11}
    assert values({"q": {"d011": 1, "d101": 1}}, run) == pytest.approx(expected, abs=1e-12)


def test_a_perfect_ranking_scores_one() -> None:
    """Except P@10, which cannot be 1 with fewer than ten relevant papers."""
    assert values({"q": {"a": 1}}, {"q": {"a": 1.0}}) == {"nDCG@10": 1, "MAP": 1, "P@10": 0.1, "R@100": 1, "MRR": 1}


def test_the_order_is_that_of_the_scores() -> None:
    """Not that of the lines; equal scores go by the larger id first, as in trec_eval."""
    assert values({"q": {"late": 1}}, {"q": {"early": -2.0, "late": -1.0}})["MRR"] == 1
    assert values({"q": {"b": 1}}, {"q": {"a": 1.0, "b": 1.0}})["MRR"] == 1
    assert values({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}})["MRR"] == 0.5


def test_rows_follow_the_judgments() -> None:
    """A judged query that the run lacks, or that has nothing relevant, has zeros; one not judged has no row."""
    found = measure(
        {"z": {"a": 1}, "m": {"a": 1}, "b": {"a": 0}}, {"b": {"a": 1.0}, "z": {"a": 1.0}, "new": {"a": 1.0}}
    )
    assert found[:, 4].tolist() == [1.0, 0.0, 0.0]
    assert found.shape == (3, 5)


def test_the_means_are_those_of_ir_measures(write: Write) -> None:
    """On random runs with ties, missing queries and graded judgments, from the same files."""
    draw = random.Random(7)
    judged = [(q, d, draw.choice([0, 0, 1, 1, 2, 3])) for q in range(30) for d in draw.sample(range(300), 20)]
    qrels = write("qrels", "".join(f"q{q} 0 d{d} {rel}\n" for q, d, rel in judged))
    found = [(q, d, draw.randrange(150) / 4) for q in range(2, 33) for d in draw.sample(range(300), 120)]
    run = write("run", "".join(f"q{q} Q0 d{d} 1 {score} t\n" for q, d, score in found))
    parsed = [ir_measures.parse_measure(name) for name in MEASURES.values()]
    # Their readers have no annotations.
    judgments = ir_measures.read_trec_qrels(str(qrels))  # type: ignore[no-untyped-call]
    scored = ir_measures.read_trec_run(str(run))  # type: ignore[no-untyped-call]
    theirs = ir_measures.calc_aggregate(parsed, judgments, scored)
    ours = measure(read_qrels(qrels), read_run(run)).mean(axis=0)
    assert ours.tolist() == pytest.approx([theirs[each] for each in parsed], abs=1e-12)
    assert all(0.01 < each < 0.99 for each in ours)


def test_a_missing_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtraError, match=r"sciret evaluate .* pip install 'sciret\[evaluate\]'"):
        measure({"q": {"a": 1}}, {})
