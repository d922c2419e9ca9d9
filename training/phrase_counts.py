"""First pass: how often every candidate occurs, exactly, in bounded memory; and which of them are terms.

Candidates are many (a billion occurrences in ten million papers) and most occur once, so counts do not fit into memory
before it is known which matter. Each block's counts go to files by the key's leading bits; at the end one file after
the other is summed up and all that is rare dropped. Memory is a block, or one file, whichever is larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sciret.encoders.generic_words import PHRASES
from sciret.encoders.phrase_words import Keys, phrase_key
from sciret.training.phrase_grams import Grams

COUNT = np.dtype(
    [
        ("key", "<u8"),
        ("group", "u1"),
        ("words", "u1"),
        ("df", "<u4"),
        ("alone", "<u4"),
        ("tf", "<u4"),
        ("author", "<u4"),
    ]
)
"""A candidate in the papers of one group: how many have it, have it outside longer candidates, how often it occurs, and
how many name it as a keyphrase."""
Counts = npt.NDArray[np.void]
PARTITIONS = 64
_SUMMED = ("df", "alone", "tf", "author")


@dataclass(frozen=True, slots=True)
class Termhood:
    """When a candidate is a term.

    `alone` is the share of its papers in which it stands outside longer candidates, which is what C-value estimates
    from nested frequencies: `large language` hardly ever does. `burst` is how often a single word occurs in a paper
    that has it: terms are repeated, words of general prose are not.
    """

    papers: int = 3
    alone: float = 0.12
    burst: float = 1.45
    cohesion: float = 0.25
    """Of phrases: how much more often their words are neighbours than by chance (`WordHabits.cohesion`)."""
    authors: int = 2
    """So many papers that name it as a keyphrase are enough, whatever the other counts."""

    def accepts(self, counts: Counts) -> npt.NDArray[np.bool_]:
        df = counts["df"].astype(np.float64)
        phrase = (counts["words"] > 1) & (df >= self.papers)
        word = (counts["words"] == 1) & (df >= 2 * self.papers) & (counts["tf"] >= self.burst * df)
        free = (counts["alone"] >= 2) & (counts["alone"] >= self.alone * df)
        banned = np.isin(counts["key"], np.array([phrase_key(p) for p in PHRASES], np.uint64))
        accepted: npt.NDArray[np.bool_] = (((phrase | word) & free) | (counts["author"] >= self.authors)) & ~banned
        return accepted  # [n]


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The candidates that are terms, by key. Arrays are [n]."""

    keys: Keys  # ascending
    occurrences: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    """Papers, each with the weight of its group."""
    authors: npt.NDArray[np.bool_]
    """Enough authors name it as a keyphrase."""


class CountFiles:
    """Counts of blocks, on disk by the key's leading bits."""

    def __init__(self, folder: Path) -> None:
        self._paths = [folder / f"counts-{part:02d}" for part in range(PARTITIONS)]

    def add(self, grams: Grams, group: int) -> None:
        """Count one block, whose papers are all of one group."""
        counts = count(grams, group)
        edges = np.searchsorted(counts["key"], _FIRST_KEYS)
        for path, part in zip(self._paths, np.split(counts, edges), strict=True):
            with path.open("ab") as file:
                file.write(part.tobytes())

    def terms(self, weights: Sequence[float], termhood: Termhood, limit: int) -> Terms:
        """At most `limit` terms, those in most papers; a group's papers count by its weight."""
        found = [self._accepted(path, np.asarray(weights), termhood) for path in self._paths]
        keys, occurrences, weighted, authors = (np.concatenate(column) for column in zip(*found, strict=True))
        best = np.sort(np.lexsort((keys, -weighted))[:limit])
        return Terms(keys[best], occurrences[best], weighted[best], authors[best])

    def _accepted(
        self, path: Path, weights: npt.NDArray[np.float64], termhood: Termhood
    ) -> tuple[Keys, npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        counts = np.fromfile(path, COUNT) if path.exists() else np.empty(0, COUNT)
        counts = counts[np.argsort(counts["key"], kind="stable")]
        first = _firsts(counts["key"])
        weighted = np.add.reduceat(counts["df"] * weights[counts["group"]], first) if len(first) else np.empty(0)
        merged = merged_counts(counts)
        accepted = termhood.accepts(merged)
        merged, weighted = merged[accepted], weighted[accepted]
        return merged["key"], merged["tf"].astype(np.int64), weighted, merged["author"] >= termhood.authors


_FIRST_KEYS = np.arange(1, PARTITIONS, dtype=np.uint64) << np.uint64(64 - PARTITIONS.bit_length() + 1)


def count(grams: Grams, group: int) -> Counts:
    """One row for each candidate, ascending by key."""
    order = np.lexsort((grams.documents, grams.keys))
    keys, documents, written = grams.keys[order], grams.documents[order], grams.starts[order] < 0
    new = np.append(True, (keys[1:] != keys[:-1]) | (documents[1:] != documents[:-1]))[: len(keys)]
    pair = np.cumsum(new) - 1  # [m] number of the (candidate, paper)
    rows = np.zeros(int(new.sum()), COUNT)
    rows["key"], rows["group"], rows["df"] = keys[new], group, 1
    rows["tf"] = np.bincount(pair, ~written)
    rows["alone"] = np.bincount(pair, grams.alone[order]) > 0
    rows["author"] = np.bincount(pair, written) > 0
    if len(rows):
        rows["words"] = np.maximum.reduceat(grams.words[order], np.flatnonzero(new))
    return merged_counts(rows)


def merged_counts(rows: Counts) -> Counts:
    """Rows of the same key added up; they must stand together."""
    first = _firsts(rows["key"])
    merged = rows[first]
    if len(first):
        merged["words"] = np.maximum.reduceat(rows["words"], first)
        for name in _SUMMED:
            merged[name] = np.add.reduceat(rows[name], first)
    return merged


def _firsts(keys: Keys) -> npt.NDArray[np.int64]:
    return np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
