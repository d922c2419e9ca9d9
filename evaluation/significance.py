"""How far a mean over queries can be trusted: bootstrap intervals, and a paired randomisation test.

Both are seeded, so the same runs give the same figures every time, and both go through the queries in pieces of
bounded size. Every measure sees the same draws.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sciret.evaluation.measures import Values

DRAWS = 10_000
CONFIDENCE = 0.95
_SEED = 20_240_229
_CELLS = 2**20  # draws times queries held at once: some tens of megabytes
_ROUNDING = 1e-12  # sums of the same differences in another order are still equal


def interval(values: Values) -> tuple[Values, Values]:
    """Both ends [measures] of the percentile bootstrap interval for the mean of `values` [queries, measures]."""
    generator, queries = np.random.default_rng(_SEED), len(values)
    means = np.concatenate([_resampled(values, draws, generator) for draws in _pieces(queries)])  # [DRAWS, measures]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high


def randomisation_p(differences: Values) -> Values:
    """Two-sided p [measures] that `differences` [queries, measures] between two runs are of random sign.

    No correction for comparing many runs is made. With the observed signs counted among the draws, p is never 0.
    """
    generator, queries = np.random.default_rng(_SEED), len(differences)
    observed = np.abs(differences.sum(axis=0)) - _ROUNDING  # [measures]
    as_extreme = np.ones(differences.shape[1])
    for draws in _pieces(queries):
        signs = 2.0 * generator.integers(2, size=(draws, queries), dtype=np.int8) - 1.0
        as_extreme += (np.abs(signs @ differences) >= observed).sum(axis=0)
    p: Values = as_extreme / (DRAWS + 1)
    return p


def _resampled(values: Values, draws: int, generator: np.random.Generator) -> Values:
    """Means [draws, measures] over as many queries as there are, drawn with replacement."""
    queries = len(values)
    drawn = generator.integers(queries, size=(draws, queries)) + queries * np.arange(draws)[:, None]
    times = np.bincount(drawn.ravel(), minlength=draws * queries).reshape(draws, queries)  # how often each was drawn
    means: Values = times @ values / queries
    return means


def _pieces(queries: int) -> Iterator[int]:
    """How many draws to make at once, until all are made."""
    most = max(1, _CELLS // queries)
    for done in range(0, DRAWS, most):
        yield min(most, DRAWS - done)
