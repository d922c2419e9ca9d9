"""Keyphrases of a text by the weights that CASPER gives it: phrases that stand in it, and concepts that only fit.

Present ones need not be in the vocabulary: most of what people name is not (`benchmarks/keyphrases.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from sciret.encoded import EncodedPaper
from sciret.encoders.analysis import count_terms
from sciret.encoders.bundle import Bundle
from sciret.encoders.text import split
from sciret.errors import QueryError, SettingsError
from sciret.paper import Paper
from sciret.retrieval.candidates import Candidate, candidates

LONGEST = 1_000_000
"""Letters of a text; models read a small part of so many."""
TYPED = "text"
"""Id of a text that is no record."""
LENGTH = 0.75
"""Power of a phrase's words: what annotators name lies between the mean of the words' weights (0) and their sum (1)."""
PART = 0.5
"""What a phrase counts that is part of a longer one wherever it stands, or that overlaps with one chosen before."""


class KeyphraseEncoder(Protocol):
    @property
    def bundle(self) -> Bundle: ...

    def encode_papers(self, papers: Iterable[Paper]) -> Iterator[EncodedPaper]: ...


@dataclass(frozen=True, slots=True)
class Keyphrases:
    """Of one text, each group by weight, largest first. Phrases with the same stems are one."""

    paper: Paper
    present: Mapping[str, float]
    """Phrases of the text by how much of it they are about."""
    absent: Mapping[str, float]
    """Those of the vocabulary that the model finds fitting although the text does not have them, by its weights."""


def keyphrases(papers: Iterable[Paper], encoder: KeyphraseEncoder, most: int) -> Iterator[Keyphrases]:
    """At most so many of each kind for each paper, in the order given."""
    if "keyphrases" not in encoder.bundle.outputs:
        raise SettingsError(
            f"the model {encoder.bundle.name!r} gives no keyphrases: name one that does with --model "
            f"(`sciret models` says what each gives)"
        )
    return (sorted_out(encoded, most) for encoded in encoder.encode_papers(papers))


def stored_keyphrases(paper: EncodedPaper, most: int) -> Keyphrases:
    """By what a paper was given when it was ingested: the same as of its text."""
    if not paper.keyphrases:
        raise QueryError(
            f"paper {paper.paper.id!r} has no keyphrases: the model that it was encoded by gave it none; ingest into a "
            f"new store with a model that does (`sciret models` says what each gives)"
        )
    return sorted_out(paper, most)


def sorted_out(encoded: EncodedPaper, most: int) -> Keyphrases:
    """Those that stand in an encoded text, and those of the vocabulary that do not."""
    there = candidates(encoded)
    stems = {_stems(candidate.text) for candidate in there}
    absent: dict[tuple[str, ...], tuple[str, float]] = {}
    for phrase, weight in sorted(encoded.keyphrases.items(), key=lambda item: (-item[1], item[0])):
        if (own := _stems(phrase)) not in stems:
            absent.setdefault(own, (phrase, weight))
    heaviest = max(encoded.keyphrases.values(), default=0.0) or 1.0
    present = _chosen({candidate: _salience(candidate, heaviest) for candidate in there}, most)
    return Keyphrases(encoded.paper, present, dict(list(absent.values())[:most]))


def _salience(candidate: Candidate, heaviest: float) -> float:
    """What its words weigh together, more for each time that it occurs and less the later it begins.

    Words and occurrences count less than in proportion: a long phrase has more words by itself, and a word of a field
    stands everywhere. The model's heaviest keyphrase counts double.
    """
    often = math.sqrt(candidate.count)
    weight = candidate.weight * math.pow(len(candidate.words), LENGTH) * often / (1 + candidate.place)
    return weight * (1 + candidate.keyphrase / heaviest) * (1 if candidate.whole else PART)


def _chosen(weights: dict[Candidate, float], most: int) -> dict[str, float]:
    """The heaviest first. One that is part of another, or has it in it, says half of it again."""
    chosen: dict[str, float] = {}
    seen: set[tuple[str, ...]] = set()
    left = dict(weights)
    while left and len(chosen) < most:
        best = max(left, key=lambda candidate: (left[candidate], -candidate.place))
        weight = left.pop(best)
        if _stems(best.text) in seen:
            continue
        seen.add(_stems(best.text))
        chosen[best.text] = weight
        left = {other: own * PART if other.overlaps(best) else own for other, own in left.items()}
    return chosen


def _stems(phrase: str) -> tuple[str, ...]:
    return tuple(count_terms(phrase)) or (phrase,)


def text_as_paper(text: str) -> Paper:
    """The first sentence is what a title would be: models were trained on a title and what follows it."""
    sentences = split(text, LONGEST).sentences
    if not sentences:
        raise QueryError("the text is empty")
    return Paper(TYPED, sentences[0], " ".join(sentences[1:]))
