"""Lines of training data as `sciret train mine` writes them:

{"source": "citation", "query": "...", "positive": "id", "negatives": ["id", ...], "weight": 1.0, "split": "train"}

`weight` and `split` may be missing (1 and train). `scores` is what a teacher said of the positive and each negative.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciret.errors import RecordError
from sciret.sources.stream import open_lines

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Triplet:
    where: str
    """File and line."""
    source: str
    query: str
    positive: str
    negatives: tuple[str, ...]
    weight: float
    split: str
    scores: tuple[float, ...]
    """Of the positive and of each negative, or none."""


def read_triplets(path: Path) -> Iterator[Triplet]:
    """In the order of the file, gzip or not; a line that cannot be used is refused with its number."""
    with open_lines(str(path)) as lines:
        for line in lines:
            where = f"{path}:{line.number}"
            if not line.whole:
                raise RecordError(where, "the line is far too long for a triplet; is this the right file?")
            if line.data.strip():
                yield _triplet(where, line.data)
        if lines.broken:
            raise RecordError(str(path), lines.broken)


def _triplet(where: str, data: bytes) -> Triplet:
    try:
        row = json.loads(data)
        triplet = Triplet(
            where,
            source=_text(row, "source"),
            query=_text(row, "query"),
            positive=_text(row, "positive"),
            negatives=tuple(map(str, row.get("negatives", ()))),
            weight=float(row.get("weight", 1.0)),
            split=row.get("split", "train"),
            scores=tuple(map(float, row.get("scores", ()))),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"not a training triplet ({error!r}); `sciret train mine` writes them"
        raise RecordError(where, reason, data.decode("utf-8", "replace")) from error
    if fault := _fault(triplet):
        raise RecordError(where, fault, data.decode("utf-8", "replace"))
    return triplet


def _text(row: dict[str, Any], name: str) -> str:
    value = row[name]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {value!r}")
    return value


def _fault(triplet: Triplet) -> str | None:
    if triplet.split not in SPLITS:
        return f"the split is {triplet.split!r}; there are {', '.join(SPLITS)}"
    if not math.isfinite(triplet.weight) or triplet.weight <= 0:
        return f"the weight is {triplet.weight}; leave the line out, or give a number above 0"
    if triplet.positive in triplet.negatives:
        return f"the positive {triplet.positive!r} is among the negatives; mine again"
    if triplet.scores and len(triplet.scores) != 1 + len(triplet.negatives):
        return f"{len(triplet.scores)} scores for 1 positive and {len(triplet.negatives)} negatives"
    return None
