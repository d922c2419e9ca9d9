"""TREC runs: what a search found for many queries, in the format that every evaluation tool reads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import numpy as np

from sciret.errors import QueryError
from sciret.evaluation.columns import Columns, read_columns

Run: TypeAlias = dict[str, dict[str, float]]
"""Query id to document id to score."""

_NAMES = "qid Q0 docid rank score tag"
_UNWRITABLE = re.compile(r"[\s\0\ud800-\udfff]|\A\Z")


def write_run(path: str | Path, answers: Iterable[tuple[str, Iterable[tuple[str, float]]]], tag: str) -> None:
    """Each query's papers and their scores, best first."""
    _check("tag", tag)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for qid, found in answers:
            _check("query id", qid)
            score = np.float32(np.inf)
            for rank, (paper_id, exact) in enumerate(found, start=1):
                _check("paper id", paper_id)
                # Tools order a run by its scores, not by its ranks, and trec_eval reads them as float32: scores that
                # would be equal there go down by the smallest step, so that our order is the one that is evaluated.
                score = min(np.float32(exact), np.nextafter(score, np.float32(-np.inf)))
                file.write(f"{qid} Q0 {paper_id} {rank} {score} {tag}\n")


def read_run(path: str | Path) -> Run:
    """All of it, checked line by line. The order is that of the scores; the rank column must only be a number."""
    run: Run = {}
    for line in read_columns(str(path)):
        qid, _, docid, rank, score, _ = line.expect(_NAMES)
        if not re.fullmatch(r"-?\d+", rank):
            raise line.refuse(f"the rank is {rank!r}, not a whole number")
        found = run.setdefault(qid, {})
        if docid in found:
            raise line.refuse(f"document {docid} is listed a second time for query {qid}; remove one of the lines")
        found[docid] = _score(score, line)
    return run


def _check(what: str, value: str) -> None:
    if _UNWRITABLE.search(value):
        raise QueryError(
            f"the {what} {value!r} cannot stand in a TREC run: its columns are apart by white space, so give one "
            f"that is not empty and has no white space, NUL or lone surrogate in it"
        )


def _score(text: str, line: Columns) -> float:
    try:
        score = float(text)
    except ValueError:
        raise line.refuse(f"the score is {text!r}, not a number") from None
    if not math.isfinite(score):
        raise line.refuse(f"the score is {text}: nothing can be ordered by it")
    return score
