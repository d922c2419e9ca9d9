"""Figures about a vocabulary: what it holds, and how it covers a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sciret.encoders.phrase_words import words_of
from sciret.encoders.phrases import PhraseMatcher
from sciret.training.coverage import worth
from sciret.training.vocabulary import Source

LEAST = (1, 3, 5, 10, 20)


def describe(phrases: Sequence[str], examples: int) -> dict[str, Any]:
    """Size, lengths in words, overlaps, and examples from its beginning, middle and end."""
    lengths = Counter(len(words_of(phrase)) for phrase in phrases)
    middle = max(0, (len(phrases) - examples) // 2)
    return {
        "phrases": len(phrases),
        "words": dict(sorted(lengths.items())),
        "within": _within(phrases),
        "first": list(phrases[:examples]),
        "middle": list(phrases[middle : middle + examples]),
        "last": list(phrases[len(phrases) - min(examples, len(phrases)) :]),
    }


def _within(phrases: Sequence[str]) -> int:
    """How many are part of others, word by word."""
    matcher = PhraseMatcher(phrases)
    inner = {match.phrase for n, phrase in enumerate(phrases) for match in matcher.find(phrase) if match.phrase != n}
    return len(inner)


def corpus_report(phrases: Sequence[str], source: str, examples: int) -> dict[str, Any]:
    """By the phrases that the papers' texts have, whatever their authors' keyphrases."""
    matcher = PhraseMatcher(phrases)
    papers: Counter[int] = Counter()
    held = []
    for paper in Source.parse(source).papers():
        found = set(matcher.count(paper.text))
        papers.update(found)
        held.append(len(found))
    commonest = [phrases[number] for number, _ in papers.most_common(examples)]
    return {**coverage_of(np.array(held, np.int64)), "commonest": commonest, "unused": len(phrases) - len(papers)}


def coverage_of(held: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Of papers that have so many phrases each."""
    return {
        "papers": len(held),
        "mean": round(float(held.mean()), 2) if len(held) else 0.0,
        "median": float(np.median(held)) if len(held) else 0.0,
        "papers_with": {least: round(float((held >= least).mean()), 4) if len(held) else 0.0 for least in LEAST},
        "worth": round(worth(held), 4),
    }
