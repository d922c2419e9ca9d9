"""Relevance judgments: TREC qrels of four columns, or a table with the header `qid docid rel`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from sciret.errors import RecordError
from sciret.evaluation.columns import Columns, read_columns

Qrels: TypeAlias = dict[str, dict[str, int]]
"""Query id to document id to relevance; above 0 is relevant."""

_TREC = "qid iteration docid rel"
_TABLE = "qid docid rel"


def read_qrels(path: str | Path) -> Qrels:
    """The first line tells which of the two formats it is."""
    qrels: Qrels = {}
    for line, qid, docid, rel in _judgments(str(path)):
        if not re.fullmatch(r"-?[0-9]{1,3}", rel):  # trec_eval makes a table as long as the highest relevance
            raise line.refuse(f"the relevance is {rel!r}; expected a whole number such as 0, 1 or 2, at most 999")
        judged = qrels.setdefault(qid, {})
        if docid in judged:
            raise line.refuse(f"document {docid} is judged a second time for query {qid}; remove one of the lines")
        judged[docid] = int(rel)
    if not qrels:
        raise RecordError(
            str(path), f"no judgments in it; a line is {_TREC}, or {_TABLE} under a header of these names"
        )
    return qrels


def _judgments(path: str) -> Iterator[tuple[Columns, str, str, str]]:
    lines = read_columns(path)
    first = next(lines, None)
    if first is None:
        return
    if first.cells == _TABLE.split():
        for line in lines:
            qid, docid, rel = line.expect(_TABLE)
            yield line, qid, docid, rel
        return
    for line in chain([first], lines):
        qid, _, docid, rel = line.expect(_TREC)
        yield line, qid, docid, rel
