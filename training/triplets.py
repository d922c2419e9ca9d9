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
TEXTS = {
    "source": 'such as "contexts": what the triplet was mined from',
    "query": "what is searched for",
    "positive": "the id of the paper that answers",
}
"""Fields that a line must have."""


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
        if not isinstance(row, dict):
            raise ValueError("not a JSON object")
        triplet = Triplet(
            where,
            source=_text(row, "source"),
            query=_text(row, "query"),
            positive=_text(row, "positive"),
            negatives=_ids(row, "negatives"),
            weight=_number(row.get("weight", 1.0), "weight"),
            split=row.get("split", "train"),
            scores=tuple(_number(score, "scores") for score in _list(row, "scores")),
        )
    except ValueError as error:  # also of json
        broken = isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
        reason = f"not a training triplet, such as `sciret train mine` writes: {'not JSON: ' if broken else ''}{error}"
        raise RecordError(where, reason, data.decode("utf-8", "replace")) from error
    if fault := _fault(triplet):
        raise RecordError(where, fault, data.decode("utf-8", "replace"))
    return triplet


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {_shown(row, name)}; a text is expected, {TEXTS[name]}")
    return value


def _list(row: dict[str, Any], name: str) -> list[Any]:
    value = row.get(name, [])
    if not isinstance(value, list):
        raise ValueError(f"{name} is {_shown(row, name)}; a list is expected, and it may be missing")
    return value


def _ids(row: dict[str, Any], name: str) -> tuple[str, ...]:
    for value in _list(row, name):
        if not isinstance(value, str):
            raise ValueError(f"{name} has {value!r}; ids of papers are expected, as texts")
    return tuple(row.get(name, ()))


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is or has {value!r}; a number is expected")
    return float(value)


def _shown(row: dict[str, Any], name: str) -> str:
    return repr(row[name]) if name in row else "missing"


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
