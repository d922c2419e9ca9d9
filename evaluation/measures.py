"""The measures of a run for each query, computed by trec_eval's own code through ir-measures."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sciret.errors import MissingExtraError
from sciret.evaluation.qrels import Qrels
from sciret.evaluation.runs import Run

Values: TypeAlias = npt.NDArray[np.float64]

MEASURES = {"nDCG@10": "nDCG@10", "MAP": "AP", "P@10": "P@10", "R@100": "R@100", "MRR": "RR"}
"""Our name (of the mean over queries) to the name that ir-measures has for it."""


def measure(qrels: Qrels, run: Run) -> Values:
    """[queries, measures], in the order of `qrels` and MEASURES. A query that the run does not answer has zeros."""
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("sciret evaluate", "evaluate") from error
    parsed = [ir_measures.parse_measure(name) for name in MEASURES.values()]
    row = {qid: index for index, qid in enumerate(qrels)}
    column = {each: index for index, each in enumerate(parsed)}
    values = np.zeros((len(qrels), len(parsed)))  # [queries, measures]
    for metric in ir_measures.iter_calc(parsed, qrels, {qid: found for qid, found in run.items() if qid in qrels}):
        values[row[metric.query_id], column[metric.measure]] = metric.value
    return values
