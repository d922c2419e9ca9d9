"""Does int8 find what fp32 finds? The shipped texts search each other, by vectors and by sparse vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sciret.encoded import Vector
from sciret.encoders.bundle import Sparse
from sciret.encoders.learned import heaviest
from sciret.errors import BundleError
from sciret.onnx_export.parity import Outputs, rounded

TOP = 10
LIMIT = 0.9
"""Of the nDCG that the fp32 ranking has by its own judgment, 1."""


def compare_rankings(fp32: Outputs, int8: Outputs, sparse: Sparse | None) -> dict[str, Any]:
    """By channel: the share of the first ten that both graphs have in common, and the nDCG of int8 where fp32 is the
    judge. A graph that finds something else is refused, however like its vectors are."""
    figures = {}
    for channel, exact, rounded_off in _scores(fp32, int8, sparse):
        count = min(TOP, len(exact) - 1)
        pairs = [
            (_first(a, query, count), _first(b, query, count))
            for query, (a, b) in enumerate(zip(exact, rounded_off, strict=True))
        ]
        figures[channel] = {
            f"overlap_at_{TOP}": rounded(np.mean([len({*a} & {*b}) / count for a, b in pairs])),
            f"ndcg_at_{TOP}": rounded(np.mean([_ndcg(a, b) for a, b in pairs])),
        }
        if not figures[channel][f"ndcg_at_{TOP}"] >= LIMIT:
            raise BundleError(
                f"the int8 graph ranks otherwise than the fp32 graph ({channel}: nDCG "
                f"{figures[channel][f'ndcg_at_{TOP}']}, at least {LIMIT} is needed). No bundle was written. Use "
                f"--precision fp32 for this model."
            )
    return figures


def pruned(weights: Vector, mass: float) -> Vector:
    """Rows [n, N], each with the weights that encoders keep of a paper."""
    kept = np.zeros_like(weights)
    for row, source in zip(kept, weights, strict=True):
        places = heaviest(source, mass)
        row[places] = source[places]
    return kept


def overlap(fp32: Vector, int8: Vector, mass: float) -> float:
    """Of the features that a paper has in either, the share that it has in both; the mean over papers that have any."""
    a, b = pruned(fp32, mass) > 0, pruned(int8, mass) > 0
    both, either = (a & b).sum(axis=1), (a | b).sum(axis=1)
    return rounded((both[either > 0] / either[either > 0]).mean()) if either.any() else 1.0


def _scores(
    fp32: Outputs, int8: Outputs, sparse: Sparse | None
) -> Iterator[tuple[str, npt.NDArray[Any], npt.NDArray[Any]]]:
    """Of each text for each [n, n], by both graphs."""
    if "dense" in fp32:
        yield "dense", fp32["dense"] @ fp32["dense"].T, int8["dense"] @ int8["dense"].T
    if sparse:
        yield "sparse", _products(fp32, sparse), _products(int8, sparse)


def _products(outputs: Outputs, sparse: Sparse) -> npt.NDArray[Any]:
    """Dividing by a query's length would change no ranking."""
    parts = {name: pruned(outputs[name], sparse.mass) for name in ("tokens", "keyphrases") if name in outputs}
    products: npt.NDArray[Any] = parts["tokens"] @ parts["tokens"].T
    return products + sparse.beta * (parts["keyphrases"] @ parts["keyphrases"].T) if "keyphrases" in parts else products


def _first(scores: Vector, query: int, count: int) -> list[int]:
    """The best of the others; of equals the first."""
    order = [int(i) for i in np.argsort(-scores, kind="stable") if i != query]
    return order[:count]


def _ndcg(judge: list[int], ranking: list[int]) -> float:
    """The judge's first is worth most, its last 1, and what it does not have nothing."""
    worth = {text: len(judge) - place for place, text in enumerate(judge)}
    discounts = 1 / np.log2(np.arange(2, len(judge) + 2))
    gained, most = (np.array([worth.get(text, 0) for text in texts]) @ discounts for texts in (ranking, judge))
    return float(gained / most)
