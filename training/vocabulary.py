"""Keyphrase vocabulary of a corpus: candidates, terms, choice by coverage. Reads it twice, in bounded memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from sciret.encoders.phrase_words import words_of
from sciret.errors import RecordError, SettingsError
from sciret.paper import Paper
from sciret.sources.reader import open_source
from sciret.training.coverage import Choice, choose_by_coverage, phrases_held
from sciret.training.phrase_counts import CountFiles, Termhood, Terms
from sciret.training.phrase_grams import WordTable, blocks
from sciret.training.phrase_index import IndexWriter, PhraseIndex
from sciret.training.word_habits import SAMPLE, WordHabits

SIZE = 30_000
CANDIDATES = 12
"""Terms considered for each phrase of the vocabulary; the rest is rarer than anything that would be chosen."""
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Source:
    """A file of papers, and the group that it counts in: groups weigh the same, however many papers they have."""

    path: str
    group: str = ""

    @classmethod
    def parse(cls, text: str) -> Source:
        """`FILE`, or `GROUP=FILE`; a file whose name has a `=` is known by being there."""
        group, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            return cls(text)
        if not group or not path:
            raise SettingsError(f"{text}: give FILE or GROUP=FILE")
        return cls(path, group)

    def papers(self) -> Iterator[Paper]:
        """Records that cannot be read are left out: a vocabulary does not depend on single papers."""
        for record in open_source(self.path, title_from_abstract=True):
            if not isinstance(record, RecordError) and not record.deleted:
                yield record


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Phrases by descending gain, and what they do for each group."""

    phrases: list[str]
    gains: list[float]
    terms: int
    """How many candidates were terms and could have been chosen."""
    held: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]
    """Phrases that each paper of a group has."""


def build_vocabulary(
    sources: Sequence[Source],
    size: int = SIZE,
    *,
    termhood: Termhood | None = None,
    folder: Path | None = None,
    tell: Tell = lambda _: None,
) -> Vocabulary:
    """`folder` is for temporary files: some 1.3 KB a paper."""
    _check(sources, size)
    ordered = sorted(sources, key=lambda source: source.group)  # stable: groups stand together
    with tempfile.TemporaryDirectory(dir=folder) as name:
        index, groups = index_terms(ordered, size, termhood or Termhood(), Path(name), tell)
        weights = np.concatenate([np.full(n, 1 / n) for n in groups.values() if n])
        tell(f"choosing {size:,} of {sum(map(bool, index.names)):,} terms")
        choice = choose_by_coverage(index, size, weights * len(weights) / len(groups))
        return _vocabulary(index, choice, groups)


def index_terms(
    sources: Sequence[Source], size: int, termhood: Termhood, folder: Path, tell: Tell
) -> tuple[PhraseIndex, dict[str, int]]:
    """Both passes; the inverted index of the terms, and the number of papers of each group."""
    names = list(dict.fromkeys(source.group for source in sources))
    habits = WordHabits()
    for source in sources:
        habits.learn(islice(source.papers(), SAMPLE))
    known = WordTable(habits)
    files = CountFiles(folder)
    counted = dict.fromkeys(names, 0)
    for source in sources:
        tell(f"counting phrases of {source.path}")
        for grams in blocks(_counting(source, counted), known, sum(counted.values())):
            files.add(grams, names.index(source.group))
    if not all(counted.values()):
        empty = ", ".join(source.path for source in sources if not counted[source.group])
        raise SettingsError(f"{empty}: no paper that can be read; see what is wrong with `sciret ingest`")
    total = sum(counted.values())
    terms = files.terms([total / len(counted) / n for n in counted.values()], termhood, CANDIDATES * size)
    writer = IndexWriter(terms.keys, folder)
    again = dict.fromkeys(names, 0)
    for source in sources:
        tell(f"indexing {len(terms.keys):,} terms in {source.path}")
        for grams in blocks(_counting(source, again), known, sum(again.values())):
            writer.add(grams)
    index = writer.index()
    return replace(index, names=_cohesive(index, terms, habits, termhood, total)), counted


def _cohesive(index: PhraseIndex, terms: Terms, habits: WordHabits, termhood: Termhood, papers: int) -> list[str]:
    """Names of the terms; none for a phrase of words that stand together hardly more often than by chance."""
    rows = zip(index.names, terms.authors.tolist(), terms.occurrences.tolist(), strict=True)
    return [
        name if author or habits.cohesion(words_of(name), count / papers) >= termhood.cohesion else ""
        for name, author, count in rows
    ]


def _counting(source: Source, counted: dict[str, int]) -> Iterator[Paper]:
    for paper in source.papers():
        counted[source.group] += 1
        yield paper


def _vocabulary(index: PhraseIndex, choice: Choice, groups: dict[str, int]) -> Vocabulary:
    held = phrases_held(index, choice.terms, sum(groups.values()))
    ends = np.cumsum(list(groups.values()))
    parts = dict(zip(groups, np.split(held, ends[:-1]), strict=True))
    terms = sum(map(bool, index.names))
    return Vocabulary([index.names[term] for term in choice.terms], choice.gains, terms, parts)


def _check(sources: Sequence[Source], size: int) -> None:
    if size < 1:
        raise SettingsError(f"--size {size}: ask for at least one phrase")
    for source in sources:
        if source.path == "-":
            raise SettingsError("a corpus is read twice, so it cannot come from stdin: give files")
        open_source(source.path)  # complains before anything is read


def write_phrases(phrases: Sequence[str], path: Path) -> None:
    """One a line, whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text("".join(f"{phrase}\n" for phrase in phrases), encoding="utf-8")
    partial.replace(path)
