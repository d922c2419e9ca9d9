"""What mining must know of every paper of a corpus to tell a hard negative from a false one, in some 200 bytes each.

A paper is no negative where it is the positive in other clothes (a preprint, a second version), is cited together with
it, or shares its keyphrases.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from sciret.encoders.analysis import count_terms
from sciret.encoders.phrase_words import phrase_key
from sciret.paper import Paper
from sciret.training.draws import draw
from sciret.training.phrase_grams import author_keyphrases

HASHES = 32
ALIKE = 0.6
"""From this estimated share of common words on two papers are one."""
COMMON_SHARE = 0.005
"""A keyphrase that a larger part of all papers has (human, mouse) says nothing about two of them."""
_SHARED = 2
"""Keyphrases in common from which on a paper is no negative."""

_CHANCE = np.random.default_rng(20250813)
_FACTORS = _CHANCE.integers(1, 1 << 62, HASHES, np.uint64) * np.uint64(2) + np.uint64(1)


class PaperFacts:
    """Filled by `watch`, then read."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.words: Counter[str] = Counter()
        """Papers that have a word."""
        self._titles: list[int] = []
        self._signatures: list[npt.NDArray[np.uint8]] = []
        self._keyphrases: list[tuple[int, ...]] = []
        self._frequency: Counter[int] = Counter()
        self._together: defaultdict[int, set[int]] = defaultdict(set)

    def __len__(self) -> int:
        return len(self.rows)

    def watch(self, papers: Iterable[Paper]) -> Iterator[Paper]:
        """The same papers, each noted; of two with one id the first."""
        for paper in papers:
            if paper.id not in self.rows:
                self._add(paper)
            yield paper

    def _add(self, paper: Paper) -> None:
        self.rows[paper.id] = len(self.rows)
        self._titles.append(phrase_key(paper.title))
        terms = count_terms(paper.text)
        self.words.update(terms.keys())
        self._signatures.append(signature(terms))
        keyphrases = tuple(phrase_key(phrase) for phrase in author_keyphrases(paper))
        self._keyphrases.append(keyphrases)
        self._frequency.update(keyphrases)

    def cited_together(self, a: str, b: str) -> None:
        one, other = self.rows[a], self.rows[b]
        self._together[one].add(other)
        self._together[other].add(one)

    def is_false_negative(self, candidate: str, positive: str) -> bool:
        one, other = self.rows.get(candidate), self.rows.get(positive)
        if one is None or other is None:
            return False
        if self._titles[one] == self._titles[other] or other in self._together.get(one, ()):
            return True
        if float((self._signatures[one] == self._signatures[other]).mean()) >= ALIKE:
            return True
        return len(self.telling(one) & self.telling(other)) >= _SHARED

    def telling(self, row: int) -> set[int]:
        """Keyphrases of a paper, without those that many papers have."""
        most = max(COMMON_SHARE * len(self), 5)
        return {key for key in self._keyphrases[row] if self._frequency[key] <= most}

    def has_keyphrases(self, candidate: str, keys: Iterable[int]) -> bool:
        """All of these."""
        row = self.rows.get(candidate)
        return row is not None and set(keys) <= set(self._keyphrases[row])


def signature(words: Iterable[str]) -> npt.NDArray[np.uint8]:
    """MinHash of a set of words, one byte a hash: the share of equal bytes estimates the share of common words.

    Two unrelated bytes are equal once in 256 times, which does not matter at a threshold of 0.6.
    """
    keys = np.array([_word(word) for word in words] or [0], np.uint64)
    mixed = keys[:, None] * _FACTORS  # [words, HASHES], modulo 2^64
    bytes_: npt.NDArray[np.uint8] = (mixed.min(axis=0) >> np.uint64(20)).astype(np.uint8)
    return bytes_  # [HASHES]


_WORDS: dict[str, int] = {}


def _word(word: str) -> int:
    if word not in _WORDS:
        if len(_WORDS) > 1 << 20:
            _WORDS.clear()
        _WORDS[word] = draw(0, word)
    return _WORDS[word]
