"""Choice of K phrases that cover the papers of a corpus best, by lazy greedy (CELF).

Covering a paper once is done by a few hundred phrases, and a vocabulary has tens of thousands. So the first chosen
phrase of a paper is worth 1, the second a half, the third a third ...: a monotone submodular function (the harmonic
number of a paper's phrases), for which greedy choice is within 1 - 1/e of the best. Papers that have little are worth
more than those that have much already, which is what sets it apart from choice by frequency.

A phrase's gain can only fall as others are chosen, so a gain computed earlier is an upper bound: only the phrase on top
of the heap is computed anew, and taken when it stays on top (Leskovec et al. 2007).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sciret.training.phrase_index import Integers, PhraseIndex

Floats = npt.NDArray[np.float64]
MOST = 255
"""Phrases of a paper that are counted."""
_WORTH = np.append(1 / np.arange(1, MOST + 1), 0.0)  # [c] what one more is worth to a paper that has c


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Terms in the order they were chosen, with what each added."""

    terms: list[int]
    gains: list[float]
    computed: int
    """How many gains were computed: what laziness saves is this against terms x size."""


def choose_by_coverage(index: PhraseIndex, size: int, weights: Floats) -> Choice:
    """Greedy; `weights` are the papers'. Equal gains go by name, so that the order of papers does not matter."""
    held = np.zeros(len(weights), np.uint8)  # [papers] chosen phrases of each
    heap = [(-_gain(index, term, held, weights), name, term, 0) for term, name in enumerate(index.names) if name]
    heapq.heapify(heap)
    chosen: list[int] = []
    gains: list[float] = []
    computed = len(heap)
    while heap and len(chosen) < size:
        gain, name, term, when = heap[0]
        if when == len(chosen):
            heapq.heappop(heap)
            papers = index.papers_of(term)
            held[papers] = np.minimum(held[papers], MOST - 1) + 1
            chosen.append(term)
            gains.append(-gain)
        else:
            computed += 1
            heapq.heapreplace(heap, (-_gain(index, term, held, weights), name, term, len(chosen)))
    return Choice(chosen, gains, computed)


def choose_by_frequency(index: PhraseIndex, size: int, weights: Floats) -> Choice:
    """The phrases that most papers have: what greedy choice is compared with."""
    nothing = np.zeros(len(weights), np.uint8)
    gains = {term: _gain(index, term, nothing, weights) for term, name in enumerate(index.names) if name}
    best = sorted(gains, key=lambda term: (-gains[term], index.names[term]))[:size]
    return Choice(best, [gains[term] for term in best], len(gains))


def _gain(index: PhraseIndex, term: int, held: npt.NDArray[np.uint8], weights: Floats) -> float:
    papers = index.papers_of(term)
    return float(_WORTH[held[papers]] @ weights[papers])


def phrases_held(index: PhraseIndex, chosen: Sequence[int], papers: int) -> Integers:
    """How many of the chosen phrases each paper has."""
    held = np.zeros(papers, np.int64)
    for term in chosen:
        held[index.papers_of(term)] += 1
    return held  # [papers]


def worth(held: Integers) -> float:
    """Mean value of the objective: the harmonic number of a paper's phrases."""
    return float(np.append(0.0, np.cumsum(_WORTH))[np.minimum(held, MOST)].mean()) if len(held) else 0.0
