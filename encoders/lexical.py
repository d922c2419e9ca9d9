"""BM25 and TF-IDF as formulas, for stores that bring the counts. Both give shares in 0..1, whatever the candidates.

BM25 is Lucene's, divided by the highest score that the query could reach. TF-IDF is SMART's lnc.ltc: a paper's
vector needs no collection statistics, so it is never out of date, and only the query's carries the rarity of words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

K1 = 1.2
B = 0.75

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Collection:
    """What the formulas need to know of all papers together."""

    papers: int
    """How many have any word: what Lucene counts as the documents of a field."""
    words: int
    """How many words they have together."""

    @property
    def average(self) -> float:
        return max(self.words / max(self.papers, 1), 1.0)


def query_weights(
    sparse: Literal["bm25", "tfidf"], collection: Collection, having: Integers, in_query: Integers
) -> Floats:
    """Of each word of the query, given how many papers have it (one at least) and how often the query has it. [t]"""
    if sparse == "bm25":
        weights = np.log1p((collection.papers - having + 0.5) / (having + 0.5)) * in_query
        return np.asarray(weights / weights.sum())
    weights = np.log(collection.papers / having) * (1 + np.log(in_query))
    length = float(np.linalg.norm(weights)) or 1.0  # 0 where every paper has every word of the query
    return np.asarray(weights / length)


def bm25(counts: Floats, relative_lengths: Floats) -> Floats:
    """What papers that have a word so often make of its weight."""
    return counts / (counts + K1 * (1 - B + B * relative_lengths))


def tfidf(counts: Floats, norms: Floats) -> Floats:
    """The same; counts are at least 1."""
    return (1 + np.log(counts)) / norms


def tf_norm(terms: Mapping[str, int]) -> float:
    """How long a paper's vector of 1 + ln(count) is."""
    return math.sqrt(sum((1 + math.log(count)) ** 2 for count in terms.values()))


def rounded(lengths: Integers) -> Integers:
    """What is left of a length in the one byte that Lucene has for it: exact to 40, then four leading bits.

    With the exact length a paper would score otherwise in memory than in an OpenSearch index of the same papers.
    """
    excess = np.maximum(lengths - 24, 0)
    shift = np.maximum(np.frexp(excess)[1] - 4, 0)  # frexp's exponent is the number of bits
    return np.where(lengths < 24, lengths, 24 + ((excess >> shift) << shift))
