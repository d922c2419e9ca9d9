"""The sparse side of a score: one sparse channel, or two that are weighed. The same sum for whichever store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sciret.encoded import Vector
from sciret.encoders.lexical import Floats
from sciret.store import Sparse, SparseChannel

BM25_SHARE = 0.5
"""What BM25 counts in `both`; CASPER has the rest. BM25 goes by whole words and by how rare they are in this very
collection, CASPER by what a model finds that a text is about: they err on different papers. Neither is the better one
beside the dense side (docs/defaults.md), so they have equal shares."""


def shares(sparse: Sparse | None) -> Mapping[SparseChannel, float]:
    """The channels that a sparse side is made of, each with its share, in the order of `Completed.contributions`."""
    if sparse == "both":
        return {"bm25": BM25_SHARE, "casper": 1 - BM25_SHARE}
    return {sparse: 1.0} if sparse else {}


def taken_apart(contributions: Vector, terms: int) -> dict[str, float]:
    """Of one paper by `both`: the scores that it has by each channel. contributions: [terms + tokens + keyphrases]"""
    words, features = float(contributions[:terms].sum()), float(contributions[terms:].sum())
    return {"bm25": words / BM25_SHARE, "casper": features / (1 - BM25_SHARE)}


@dataclass(frozen=True, slots=True, eq=False)
class Summands:
    """What each feature of a query adds to the scores of papers, and which features these are."""

    cells: Floats  # [n, terms + tokens + keyphrases]
    terms: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    keyphrases: tuple[str, ...] = ()

    @classmethod
    def together(cls, found: Iterable[tuple[Summands, float]], papers: int) -> Summands:
        """Of several channels, each with its share; of none, nothing for so many papers."""
        sum_ = cls(np.zeros((papers, 0)))
        for each, share in found:
            sum_ = cls(
                np.concatenate((sum_.cells, share * each.cells), axis=1),
                sum_.terms + each.terms,
                sum_.tokens + each.tokens,
                sum_.keyphrases + each.keyphrases,
            )
        return sum_
