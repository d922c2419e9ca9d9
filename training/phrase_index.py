"""Second pass: which papers have which term, as an inverted index of arrays, and how each term is mostly written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sciret.encoders.phrase_words import Keys
from sciret.training.phrase_grams import Grams

Integers = npt.NDArray[np.int64]
Papers = npt.NDArray[np.int32]
SPELLINGS = 60
"""Occurrences after which a term's spelling is settled, so that work and memory do not grow with the corpus."""


@dataclass(frozen=True, slots=True, eq=False)
class PhraseIndex:
    """The papers of term t are `papers[starts[t]:starts[t + 1]]`, ascending."""

    starts: Integers  # [terms + 1]
    papers: Papers  # [postings], on disk
    names: list[str]  # [terms]

    def __len__(self) -> int:
        return len(self.names)

    def papers_of(self, term: int) -> Papers:
        return self.papers[self.starts[term] : self.starts[term + 1]]


class IndexWriter:
    """Postings go to disk as they come (term and paper, 8 bytes) and are put in order at the end."""

    def __init__(self, keys: Keys, folder: Path) -> None:
        self._keys = keys  # ascending
        self._pairs = folder / "pairs"
        self._sorted = folder / "postings"
        self._spellings: list[Counter[str] | None] = [None] * len(keys)
        self._seen = np.zeros(len(keys), np.int64)
        self._papers = np.zeros(len(keys), np.int64)

    def add(self, grams: Grams) -> None:
        """One block."""
        places = np.minimum(np.searchsorted(self._keys, grams.keys), len(self._keys) - 1)
        rows = np.flatnonzero(self._keys[places] == grams.keys) if len(self._keys) else np.empty(0, np.int64)
        terms = places[rows]
        order = np.lexsort((grams.documents[rows], terms))
        pairs = np.stack((terms[order].astype(np.int32), grams.documents[rows][order]), axis=1)  # [m, 2]
        pairs = pairs[np.append(True, (pairs[1:] != pairs[:-1]).any(axis=1))[: len(pairs)]]
        self._papers += np.bincount(pairs[:, 0], minlength=len(self._keys))
        with self._pairs.open("ab") as file:
            file.write(pairs.tobytes())
        self._spell(grams, rows, terms)

    def _spell(self, grams: Grams, rows: Integers, terms: Integers) -> None:
        open_ = self._seen[terms] < SPELLINGS
        rows, terms = rows[open_], terms[open_]
        for term, start, end in zip(
            terms.tolist(), grams.starts[rows].tolist(), grams.ends[rows].tolist(), strict=True
        ):
            if self._seen[term] < SPELLINGS:
                self._seen[term] += 1
                spellings = self._spellings[term]
                if spellings is None:
                    spellings = self._spellings[term] = Counter()
                spellings[grams.surfaces.text(start, end)] += 1

    def index(self) -> PhraseIndex:
        """Everything that was added. The postings stay in a file of the folder, mapped into memory."""
        starts = np.append(0, np.cumsum(self._papers))
        papers: Papers = np.empty(0, np.int32)
        if starts[-1]:
            papers = np.memmap(self._sorted, np.int32, "w+", shape=(int(starts[-1]),))
            cursors = starts[:-1].copy()
            for chunk in self._chunks():
                pairs = chunk[np.argsort(chunk[:, 0], kind="stable")]  # papers still ascend within a term
                first = np.flatnonzero(np.append(True, pairs[1:, 0] != pairs[:-1, 0]))
                sizes = np.diff(np.append(first, len(pairs)))
                within = np.arange(len(pairs)) - np.repeat(first, sizes)
                papers[cursors[pairs[:, 0]] + within] = pairs[:, 1]
                cursors[pairs[first, 0]] += sizes
        return PhraseIndex(starts, papers, [_commonest(spellings) for spellings in self._spellings])

    def _chunks(self, pairs: int = 1 << 22) -> Iterator[npt.NDArray[np.int32]]:
        with self._pairs.open("rb") as file:
            while len(chunk := np.fromfile(file, np.int32, 2 * pairs)):
                yield chunk.reshape(-1, 2)


def _commonest(spellings: Counter[str] | None) -> str:
    """Of those that are equally frequent the shortest, then the first by alphabet."""
    if not spellings:
        return ""
    return min(spellings, key=lambda text: (-spellings[text], len(text), text))
