"""λ fusion (Mandikal & Mooney 2024) and what comes after it, on whole columns of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sciret.errors import SettingsError, StoreError

Scores = npt.NDArray[np.floating[Any]]


def fuse(dense: Scores, sparse: Scores, lambda_: float) -> Scores:
    """λ·dense + (1−λ)·sparse for candidates [n] whose two sides are both known: nothing missing is taken as zero."""
    return _weighted("lambda", lambda_, dense, sparse)


def blend(fused: Scores, similarity: Scores, weight: float) -> Scores:
    """The final score [n]: the sentence match's similarity has `weight`, the fused score has the rest."""
    return _weighted("rerank_weight", weight, similarity, fused)


def rank(scores: Scores, ids: Sequence[str]) -> list[int]:
    """Positions from best to worst; equal scores by id, so that the same search gives the same list."""
    keys = zip((-np.asarray(scores, np.float64)).tolist(), ids, range(len(ids)), strict=True)
    return [position for _, _, position in sorted(keys)]


def _weighted(name: str, weight: float, first: Scores, second: Scores) -> Scores:
    if not 0 <= weight <= 1:
        raise SettingsError(f"{name} must be between 0 and 1, not {weight}")
    if first.shape != second.shape:
        raise ValueError(f"two sides of different candidates: {first.shape} and {second.shape}")
    mixed: Scores = weight * np.asarray(first, np.float64) + (1 - weight) * np.asarray(second, np.float64)
    if not np.isfinite(mixed).all():
        raise StoreError("the store gave scores that are not numbers: its vectors are damaged; ingest again")
    return mixed
