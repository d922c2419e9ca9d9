"""CASPER's sparse vectors as formulas, for the encoder that makes them and the stores that compare them.

A paper is scored by its projection onto the query, (Σ q_t·d_t + β Σ q_k·d_k) / (Σ q_t² + β Σ q_k²). That ranks papers
as CASPER's own dot product does, gives a text 1 for itself, and needs nothing of a paper but the query's features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sciret.encoders.lexical import Floats, Integers

BETA = 0.25
"""What a keyphrase counts beside a wordpiece, where a bundle says nothing else."""
MASS = 0.8
"""Share of a vector's sum that pruning keeps."""
MOST = 256
"""Features of a query."""
TOP = 10
"""Keyphrases of a paper that people filter by."""

Weights = Mapping[str, float]


def heaviest(weights: npt.NDArray[Any], mass: float) -> Integers:
    """Positions of the smallest set of largest weights that holds `mass` of the sum, largest first. weights: [n]"""
    positive = np.flatnonzero(weights > 0)
    order = positive[np.argsort(-weights[positive], kind="stable")]
    if mass >= 1:
        return order
    reached = np.cumsum(weights[order], dtype=np.float64)
    before = np.append(0.0, reached[:-1])  # what the larger weights hold already
    return order[before < mass * reached[-1]] if len(order) else order


def prune(weights: Weights, mass: float) -> dict[str, float]:
    """The same by name, largest first."""
    names = list(weights)
    return {names[i]: float(weights[names[i]]) for i in heaviest(_array(weights), mass)}


def limit(tokens: Weights, keyphrases: Weights, beta: float, most: int) -> tuple[dict[str, float], dict[str, float]]:
    """The `most` features with the largest share in a score, where a keyphrase counts β of its weight.

    Features without weight are left out. The others keep their order.
    """
    shares = np.concatenate((_array(tokens), beta * _array(keyphrases)))
    kept = np.zeros(len(shares), np.bool_)
    kept[heaviest(shares, 1.0)[:most]] = True
    return _only(tokens, kept[: len(tokens)]), _only(keyphrases, kept[len(tokens) :])


def top(keyphrases: Weights, most: int = TOP) -> tuple[str, ...]:
    """The keyphrases of largest weight, equal ones by name."""
    return tuple(name for name, _ in sorted(keyphrases.items(), key=lambda item: (-item[1], item[0]))[:most])


def length(tokens: Weights, keyphrases: Weights, beta: float) -> float:
    """Σ q_t² + β Σ q_k²: a text's score for itself before it is divided by this."""
    return float(np.square(_array(tokens)).sum() + beta * np.square(_array(keyphrases)).sum())


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """A query as what its features make of a paper's weights."""

    tokens: tuple[str, ...]
    keyphrases: tuple[str, ...]
    factors: Floats  # [tokens + keyphrases] what a paper's weight of 1 adds to its score

    @classmethod
    def of(cls, tokens: Weights, keyphrases: Weights, beta: float) -> Projection:
        """Features that cannot add anything are left out; so a query may have none."""
        tokens, keyphrases = limit(tokens, keyphrases, beta, len(tokens) + len(keyphrases))
        weights = np.concatenate((_array(tokens), beta * _array(keyphrases)))
        return cls(tuple(tokens), tuple(keyphrases), weights / (length(tokens, keyphrases, beta) or 1.0))

    def contributions(self, papers: Sequence[tuple[Weights, Weights]]) -> Floats:
        """What each feature adds to the score of each paper, given as its tokens and its keyphrases.

        A paper's weights are taken as float32, which is what the model gave and what postings keep.
        """
        cells = np.zeros((len(papers), len(self.factors)), np.float32)
        for row, (tokens, keyphrases) in enumerate(papers):
            cells[row] = [
                *(tokens.get(name, 0.0) for name in self.tokens),
                *(keyphrases.get(name, 0.0) for name in self.keyphrases),
            ]
        return cells.astype(np.float64) * self.factors  # [n, tokens + keyphrases]


def _array(weights: Weights) -> Floats:
    return np.fromiter(weights.values(), np.float64, len(weights))


def _only(weights: Weights, kept: npt.NDArray[np.bool_]) -> dict[str, float]:
    return {name: float(weight) for (name, weight), keep in zip(weights.items(), kept.tolist(), strict=True) if keep}
