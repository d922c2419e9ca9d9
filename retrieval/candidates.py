"""Phrases of a text that may be its keyphrases, found by what the model makes of its words.

A candidate is a longest run of words that weigh enough and are no words of academic prose, or a keyphrase of the
vocabulary that stands somewhere in the text. All that is looked at a store keeps of a paper, so a text has the same
candidates before and after it was ingested, and neither a model nor its tokenizer has to be there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

from sciret.encoded import EncodedPaper
from sciret.encoders.generic_words import COMMON, CUTTING, WEAK
from sciret.encoders.phrase_words import HYPHENS, fold_word, phrase_letters, readable, words_of
from sciret.encoders.phrases import Match, PhraseMatcher, read_words
from sciret.paper import Paper
from sciret.retrieval.wordpieces import weight_of

MOST_WORDS = 5
"""Longer runs are clauses; vocabularies are built with the same bound."""
ENOUGH = 0.4
"""Share of the heaviest word's weight below which a word is between terms, not in one."""


@dataclass(frozen=True, slots=True)
class Candidate:
    text: str
    """In lower case, as the text first writes it, or as the vocabulary does."""
    words: tuple[str, ...]
    """Folded: the same for all spellings."""
    weight: float
    """Mean of its words'; a word weighs as much as the heaviest of its pieces."""
    place: float
    """Share of the text that stands before it."""
    whole: bool
    """It is all that stands between two words that are in no phrase, at least once."""
    count: int = 1
    """Occurrences, those within longer phrases too."""
    keyphrase: float = 0.0
    """What it weighs as a keyphrase of the vocabulary."""

    def overlaps(self, other: Candidate) -> bool:
        """One of them is part of the other."""
        one, two = (f" {' '.join(each.words)} " for each in (self, other))
        return one in two or two in one


def marked_text(paper: Paper) -> str:
    """Title and abstract, with a mark between them that no phrase goes across."""
    return readable(f"{paper.title} | {paper.abstract}" if paper.abstract else paper.title)


def candidates(encoded: EncodedPaper) -> list[Candidate]:
    """Each once, whatever its spellings, in no particular order."""
    text = _Text(marked_text(encoded.paper), encoded.tokens)
    weights = {phrase_letters(phrase): weight for phrase, weight in encoded.keyphrases.items()}
    found: dict[str, Candidate] = {}
    for candidate in (*text.whole(), *text.known(tuple(encoded.keyphrases))):
        found.setdefault("".join(candidate.words), candidate)
    matcher = PhraseMatcher([candidate.text for candidate in found.values()])
    counts = matcher.count(text.text)
    return [
        replace(candidate, count=counts.get(number, 1), keyphrase=weights.get(letters, 0.0))
        for number, (letters, candidate) in enumerate(found.items())
    ]


class _Text:
    """A text that is looked at word by word."""

    def __init__(self, text: str, tokens: Mapping[str, float]) -> None:
        self.text = text
        read = read_words(text)
        self._words, self._spans, self._runs = read.words, read.spans, read.runs
        of = {word: weight_of(word, tokens) for word in dict.fromkeys(read.words)}
        # A model may give keyphrases alone: then no word tells more than another.
        self._weights = [of[word] if tokens else 1.0 for word in read.words]
        self._told = bool(tokens)

    def whole(self) -> Iterator[Candidate]:
        """Longest runs, in the order of the text."""
        for first, end in self._between() if self._told else ():
            words = self._words[first:end]
            if end - first <= MOST_WORDS and not _say_nothing(words) and sum(map(len, words)) > 2:
                yield self._candidate(first, end, self._written(first, end), whole=True)

    def known(self, phrases: Sequence[str]) -> Iterator[Candidate]:
        """Those of these phrases that stand in the text; a vocabulary has none that say nothing."""
        matcher = PhraseMatcher(phrases)
        for match in matcher.find(self.text):
            yield self._candidate(*self._bounds(match), matcher.phrases[match.phrase], whole=False)

    def _candidate(self, first: int, end: int, written: str, *, whole: bool) -> Candidate:
        weight = sum(self._weights[first:end]) / (end - first)
        words = tuple(map(fold_word, words_of(written)))
        return Candidate(written, words, weight, first / len(self._words), whole)

    def _between(self) -> Iterator[tuple[int, int]]:
        """First word and end of each run of words that are in phrases."""
        least = ENOUGH * max(self._weights, default=0.0)
        first = 0
        for place, word in enumerate(self._words):
            # What a hyphen joins is one word: `state-of-the-art`.
            joined = self._joined[place] or self._joined[place + 1]
            cut = not joined and (self._weights[place] < least or not _may_stand(word))
            if cut or (place and self._runs[place] != self._runs[place - 1]):
                if first < place:
                    yield first, place
                first = place + cut
        if first < len(self._words):
            yield first, len(self._words)

    @cached_property
    def _joined(self) -> list[bool]:
        """Whether a hyphen stands between each word and the one before it; one more for the end."""
        pairs = zip(self._spans, self._spans[1:], strict=False)
        return [False, *(self.text[before[1] : after[0]] in HYPHENS for before, after in pairs), False]

    def _written(self, first: int, end: int) -> str:
        parts = (("-" if self._joined[place] else " ") + self._words[place] for place in range(first, end))
        return "".join(parts).removeprefix(" ").lower()

    def _bounds(self, match: Match) -> tuple[int, int]:
        """First word and end of what was found; an abbreviation is all of the words that it stands for."""
        return (
            bisect_left(self._spans, match.start, key=lambda span: span[0]),
            bisect_right(self._spans, match.end, key=lambda span: span[1]),
        )


def _may_stand(word: str) -> bool:
    """In a phrase: neither a number nor a small letter, which stand for quantities."""
    letter = len(word) > 1 or word.isupper()
    return letter and any(sign.isalpha() for sign in word) and word.lower() not in CUTTING


def _say_nothing(words: Sequence[str]) -> bool:
    """Together: generic words, at least one of them weak, or a single one."""
    weak = [_among(word, WEAK) for word in words]
    vague = all(is_weak or _among(word, COMMON) for word, is_weak in zip(words, weak, strict=True))
    return vague and (any(weak) or len(words) == 1)


def _among(word: str, words: Set[str]) -> bool:
    # Only the word is folded: a list may mean one spelling of a word and not the others.
    return word.lower() in words or fold_word(word) in words
