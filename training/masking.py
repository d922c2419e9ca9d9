"""Masking that grounds keyphrases: a phrase of the vocabulary is hidden as a whole, and its keyphrase is to be guessed.

The CASPER authors put each keyphrase into the text as a token of its own and mask those tokens more often than others.
Here texts stay wordpieces, as they are when papers are encoded, and the keyphrase is asked for at the first position of
its phrase. Both answers are right there, keyphrase and wordpiece, so neither counts as wrong where the other is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tokenizers import Encoding

from sciret.encoders.phrases import PhraseMatcher, outermost
from sciret.training.corpus import Ints

NOTHING = -100
"""The label of a position where nothing is to be guessed, as torch has it."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Tokens from `first` to `end` (exclusive) are a phrase."""

    phrase: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Shares:
    phrases: float
    """Of the phrases, to be guessed."""
    visible: float
    """Of those, left as they are."""
    words: float
    """Of the other wordpieces, to be guessed: most hidden, a tenth replaced by any, a tenth left."""


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    ids: Ints  # [L] what the network reads
    words: Ints  # [L] the wordpiece to be guessed, or NOTHING
    phrases: Ints  # [L] the keyphrase to be guessed, or NOTHING


def occurrences(encoding: Encoding, texts: Sequence[str], matcher: PhraseMatcher) -> list[Occurrence]:
    """Phrases of each text (title, abstract) that lie wholly within what was read, none within another."""
    found: list[Occurrence] = []
    sequences, offsets = np.array([-1 if s is None else s for s in encoding.sequence_ids]), np.array(encoding.offsets)
    for number, text in enumerate(texts):
        tokens = np.flatnonzero(sequences == number)
        if not len(tokens):
            continue
        starts, ends = offsets[tokens, 0], offsets[tokens, 1]
        for match in outermost(matcher.find(text)):
            first, last = np.searchsorted(ends, match.start, side="right"), np.searchsorted(ends, match.end)
            if last < len(tokens) and starts[first] < match.end:
                found.append(Occurrence(match.phrase, int(tokens[first]), int(tokens[last]) + 1))
    return found


def hide(
    ids: Ints,
    content: Ints,
    phrases: Sequence[Occurrence],
    shares: Shares,
    mask: int,
    vocabulary: int,
    generator: np.random.Generator,
) -> Masked:
    """Of ids [L], whose `content` positions are no special tokens. `mask` is the id that hides, below `vocabulary`."""
    read, words, answers = ids.copy(), np.full_like(ids, NOTHING), np.full_like(ids, NOTHING)
    free = set(content.tolist())
    taken = 0
    for phrase, drawn in zip(phrases, generator.random((len(phrases), 2)), strict=True):
        inside = range(phrase.first, phrase.end)
        free.difference_update(inside)
        if drawn[0] >= shares.phrases or phrase.first < taken:
            continue
        taken = phrase.end
        answers[phrase.first] = phrase.phrase
        if drawn[1] >= shares.visible:
            words[inside] = ids[inside]
            read[inside] = mask
    others = np.array(sorted(free), dtype=np.int64)
    chosen = others[generator.random(len(others)) < shares.words]
    words[chosen] = ids[chosen]
    drawn = generator.random(len(chosen))
    read[chosen[drawn < 0.8]] = mask
    replaced = chosen[drawn >= 0.9]
    read[replaced] = generator.integers(vocabulary, size=len(replaced))
    return Masked(read, words, answers)
