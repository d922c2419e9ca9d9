"""How words behave in a corpus, learned from a sample of it: what a part-of-speech tagger would be asked for.

Verbs follow `we`, `to`, `can` and the like; nouns and adjectives follow articles and prepositions. A noun often ends
the run of words it stands in, an adjective next to never. These two shares tell `encodes` from `codes` and `neural`
from `neuron` in any field, without a model; words that the sample has too rarely are judged by their endings.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sciret.encoders.generic_words import FUNCTION
from sciret.encoders.phrase_words import HYPHENS, TOKEN, fold_word, readable
from sciret.paper import Paper

SAMPLE = 10_000
"""Papers of a source that are enough: rates of words that matter no longer change."""
ENOUGH = 6
_BEFORE_VERBS = frozenset(
    {"we", "they", "it", "which", "who", "that", "also", "to", "can", "cannot", "could", "may", "might", "must"}
    | {"will", "would", "should"}
)
_BEFORE_NOUNS = frozenset(
    {"the", "a", "an", "this", "these", "those", "our", "their", "its", "each", "of", "in", "by", "for", "with"}
    | {"between", "from", "on", "as", "or"}
)


@dataclass(slots=True)
class WordHabits:
    """Counts by lower-case word, and of `folded` words."""

    occurrences: Counter[str] = field(default_factory=Counter)
    as_verb: Counter[str] = field(default_factory=Counter)
    as_noun: Counter[str] = field(default_factory=Counter)
    at_end: Counter[str] = field(default_factory=Counter)
    folded: Counter[str] = field(default_factory=Counter)
    words: int = 0
    papers: int = 0

    def learn(self, papers: Iterable[Paper]) -> None:
        for paper in papers:
            words = [token.lower() for token in TOKEN.findall(readable(paper.text))]
            self._count(words)
            self.papers += 1

    def _count(self, words: Sequence[str]) -> None:
        for before, word, after in zip(["|", *words[:-1]], words, [*words[1:], "|"], strict=True):
            if not word[0].isalpha():
                continue
            self.words += 1
            self.occurrences[word] += 1
            self.folded[fold_word(word)] += 1
            if before in _BEFORE_VERBS:
                self.as_verb[word] += 1
            elif before in _BEFORE_NOUNS:
                self.as_noun[word] += 1
            if after in FUNCTION or (not after[0].isalnum() and after not in HYPHENS):
                self.at_end[word] += 1

    def verb_share(self, word: str) -> float | None:
        """Of the occurrences that tell; None where there are too few."""
        told = self.as_verb[word] + self.as_noun[word]
        return self.as_verb[word] / told if told >= ENOUGH else None

    def end_share(self, word: str) -> float | None:
        """Occurrences that end a run of words; None where there are too few."""
        occurrences = self.occurrences[word]
        return self.at_end[word] / occurrences if occurrences >= 2 * ENOUGH else None

    def cohesion(self, words: Sequence[str], per_paper: float) -> float:
        """Normalised pointwise mutual information of neighbours that occur so often a paper: 0 by chance, 1 at most.

        Of more than two words it is the mean over the joints. Chance is that of words in a row, not of words in one
        paper: nearly all papers of a field have both `image` and `classification`.
        """
        if len(words) < 2 or not self.words or per_paper <= 0:
            return 1.0
        together = math.log(per_paper * self.papers / self.words)
        by_chance = sum(math.log(max(self.folded[fold_word(word)], 1) / self.words) for word in words)
        return (together - by_chance) / (-together * (len(words) - 1)) if together < 0 else 1.0
