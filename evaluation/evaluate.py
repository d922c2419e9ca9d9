"""Runs compared by relevance judgments: each measure with its interval, and each run with the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sciret.errors import QueryError
from sciret.evaluation.measures import MEASURES, Values, measure
from sciret.evaluation.qrels import Qrels, read_qrels
from sciret.evaluation.runs import Run, read_run
from sciret.evaluation.significance import interval, randomisation_p


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure of one run: the mean over all judged queries and its 95 % interval."""

    mean: float
    low: float
    high: float
    difference: float | None
    """From the first run's mean; None for the first run itself, as is `p`."""
    p: float | None


@dataclass(frozen=True, slots=True)
class Row:
    run: str
    """The run's file as it was given."""
    figures: Mapping[str, Figure]
    """By measure."""
    unanswered: int
    """Judged queries that the run lacks; each counts as 0 in every measure."""
    unjudged: int
    """Queries of the run without any judgment; they are left out."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    measures: tuple[str, ...]
    queries: int
    """How many are judged, and so how many each mean is over."""
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def evaluate(qrels: Path, runs: Sequence[Path]) -> Evaluation:
    """The runs in the order given, one in memory at a time."""
    judgments = read_qrels(qrels)
    rows: list[Row] = []
    first: Values | None = None  # [queries, measures]
    for path in runs:
        run = read_run(path)
        if not run.keys() & judgments.keys():
            raise QueryError(f"{path}: {qrels} judges none of its {len(run)} queries; do they belong together?")
        values = measure(judgments, run)  # [queries, measures]
        rows.append(_row(str(path), run, judgments, _figures(values, first)))
        first = values if first is None else first
    return Evaluation(tuple(MEASURES), len(judgments), tuple(rows))


def _row(name: str, run: Run, qrels: Qrels, figures: Mapping[str, Figure]) -> Row:
    return Row(name, figures, unanswered=len(qrels.keys() - run.keys()), unjudged=len(run.keys() - qrels.keys()))


def _figures(values: Values, first: Values | None) -> dict[str, Figure]:
    means, (lows, highs) = values.mean(axis=0), interval(values)
    empty = [None] * len(MEASURES)
    differences = empty if first is None else (values - first).mean(axis=0).tolist()
    ps = empty if first is None else randomisation_p(values - first).tolist()
    parts = zip(means.tolist(), lows.tolist(), highs.tolist(), differences, ps, strict=True)
    return {name: Figure(*part) for name, part in zip(MEASURES, parts, strict=True)}
