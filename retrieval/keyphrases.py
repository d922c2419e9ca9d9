"""Keyphrases of a text by the weights that CASPER gives them: those that stand in it, and those that only fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from sciret.encoded import EncodedPaper
from sciret.encoders.analysis import count_terms
from sciret.encoders.bundle import Bundle
from sciret.encoders.phrases import PhraseMatcher
from sciret.encoders.text import split
from sciret.errors import QueryError, SettingsError
from sciret.paper import Paper

LONGEST = 1_000_000
"""Letters of a text; models read a small part of so many."""


class KeyphraseEncoder(Protocol):
    @property
    def bundle(self) -> Bundle: ...

    def encode_papers(self, papers: Iterable[Paper]) -> Iterator[EncodedPaper]: ...


@dataclass(frozen=True, slots=True)
class Keyphrases:
    """Of one text, each group by weight, largest first. Phrases with the same stems are one."""

    paper: Paper
    present: Mapping[str, float]
    """Those that the text has, in any spelling."""
    absent: Mapping[str, float]
    """Those that the model finds fitting although the text does not have them."""


def keyphrases(papers: Iterable[Paper], encoder: KeyphraseEncoder, most: int) -> Iterator[Keyphrases]:
    """At most so many of each kind for each paper, in the order given."""
    if "keyphrases" not in encoder.bundle.outputs:
        raise SettingsError(
            f"the model {encoder.bundle.name!r} gives no keyphrases: name one that does with --model "
            f"(`sciret models` says what each gives)"
        )
    return (sorted_out(encoded, most) for encoded in encoder.encode_papers(papers))


def stored_keyphrases(paper: EncodedPaper, most: int) -> Keyphrases:
    """Those that a paper was given when it was ingested."""
    if not paper.keyphrases:
        raise QueryError(
            f"paper {paper.paper.id!r} has no keyphrases: the model that it was encoded by gave it none; ingest into a "
            f"new store with a model that does (`sciret models` says what each gives)"
        )
    return sorted_out(paper, most)


def sorted_out(encoded: EncodedPaper, most: int) -> Keyphrases:
    """The phrases of an encoded text, told apart by whether they stand in it."""
    weights = dict(sorted(encoded.keyphrases.items(), key=lambda item: (-item[1], item[0])))
    matcher = PhraseMatcher(tuple(weights))
    there = {matcher.phrases[found] for found in matcher.count(encoded.paper.text)}
    groups: dict[tuple[str, ...], list[str]] = {}
    for phrase in weights:
        groups.setdefault(tuple(count_terms(phrase)) or (phrase,), []).append(phrase)
    present: dict[str, float] = {}
    absent: dict[str, float] = {}
    for spellings in groups.values():
        written = next((phrase for phrase in spellings if phrase in there), None)
        group = absent if written is None else present
        group[written or spellings[0]] = weights[spellings[0]]
    return Keyphrases(encoded.paper, _first(present, most), _first(absent, most))


def _first(weights: Mapping[str, float], most: int) -> dict[str, float]:
    return dict(list(weights.items())[:most])


def text_as_paper(text: str) -> Paper:
    """The first sentence is what a title would be: models were trained on a title and what follows it."""
    sentences = split(text, LONGEST).sentences
    if not sentences:
        raise QueryError("the text is empty")
    return Paper("text", sentences[0], " ".join(sentences[1:]))
