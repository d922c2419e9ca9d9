"""Which phrases of a vocabulary occur in a text, and where. Works from `keyphrases.txt` alone, without a model.

Every run of up to as many words as the longest phrase has is looked up by its key (`phrase_words.py`), a few array
operations a text; what is found is compared letter by letter, so that equal keys of different phrases cannot deceive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sciret.encoders.abbreviations import definitions
from sciret.encoders.phrase_words import (
    HYPHENS,
    TOKEN,
    extended,
    fold_word,
    phrase_key,
    phrase_letters,
    readable,
    word_key,
    words_of,
)
from sciret.errors import RecordError, SettingsError

MORE_WORDS = 1
"""A phrase may be written with so many more words than the vocabulary has it: `cross lingual` for `crosslingual`."""


class Match(NamedTuple):
    """`text[start:end]` is phrase number `phrase`; of a text in Unicode's composed form (NFC), as almost all are."""

    phrase: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Words:
    """Words of a text with their places; an abbreviation counts as the words it was defined by."""

    words: list[str]
    spans: list[tuple[int, int]]
    runs: list[int]
    """Number of the run between two marks that each word is in."""


class PhraseMatcher:
    """Immutable, so any number of threads may use one."""

    def __init__(self, phrases: Sequence[str]) -> None:
        self.phrases = tuple(phrases)
        keys = np.array([phrase_key(phrase) for phrase in self.phrases], np.uint64)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        self._letters = [phrase_letters(phrase) for phrase in self.phrases]
        self._longest = max((len(words_of(phrase)) for phrase in self.phrases), default=0) + MORE_WORDS

    @classmethod
    def load(cls, path: Path) -> PhraseMatcher:
        return cls(load_phrases(path))

    def find(self, text: str) -> list[Match]:
        """All occurrences, nested ones too, by start and then by end."""
        read = read_words(readable(text))
        if not read.words or not self.phrases:
            return []
        infos = np.array([word_key(word) for word in read.words], np.uint64)  # [n, 2]
        own, powers, runs = infos[:, 0], infos[:, 1], np.array(read.runs)
        found: list[Match] = []
        keys = own
        for length in range(1, min(self._longest, len(own)) + 1):
            if length > 1:
                keys = extended(keys[:-1], own[length - 1 :], powers[length - 1 :])
            places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            same_run = runs[: len(keys)] == runs[length - 1 :]
            for first in np.flatnonzero((self._keys[places] == keys) & same_run).tolist():
                phrase = int(self._order[places[first]])
                if self._letters[phrase] == "".join(map(fold_word, read.words[first : first + length])):
                    found.append(Match(phrase, read.spans[first][0], read.spans[first + length - 1][1]))
        return sorted(set(found), key=lambda match: (match.start, match.end, match.phrase))

    def count(self, text: str) -> dict[int, int]:
        """How often each phrase occurs, nested in others or not, in the order of first appearance."""
        counts: dict[int, int] = {}
        for match in self.find(text):
            counts[match.phrase] = counts.get(match.phrase, 0) + 1
        return counts

    def number(self, phrase: str) -> int | None:
        """Of the vocabulary's phrase that this is a spelling of."""
        key = np.uint64(phrase_key(phrase))
        place = int(np.searchsorted(self._keys, key))
        if place == len(self._keys) or self._keys[place] != key:
            return None
        number = int(self._order[place])
        return number if self._letters[number] == phrase_letters(phrase) else None


def outermost(matches: Iterable[Match]) -> list[Match]:
    """Without those that lie within a longer one: `language model` in `large language model`."""
    kept: list[Match] = []
    for match in sorted(matches, key=lambda match: (match.start, -match.end)):
        if not kept or match.end > kept[-1].end:
            kept.append(match)
    return kept


def read_words(text: str) -> Words:
    """Of a readable text (`phrase_words.readable`)."""
    meanings: dict[str, list[str]] = {}
    brackets: list[tuple[int, int]] = []
    for one in definitions(text):
        meanings.setdefault(one.short, words_of(text[one.start : one.end]))
        brackets.append((one.end, one.close))
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    runs: list[int] = []
    run, skipped = 0, iter([*brackets, (len(text), len(text))])
    bracket = next(skipped)
    for token in TOKEN.finditer(text):
        word, place = token[0], token.start()
        while place >= bracket[1] and bracket[0] < len(text):
            bracket = next(skipped)
        if place >= bracket[0]:  # a definition's brackets do not interrupt the phrase around them
            continue
        if not word[0].isalnum():
            run += word not in HYPHENS
            continue
        for each in meanings.get(word) or meanings.get(word.removesuffix("s")) or [word] if meanings else [word]:
            words.append(each)
            spans.append(token.span())
            runs.append(run)
    return Words(words, spans, runs)


def load_phrases(path: Path) -> list[str]:
    """The lines of a vocabulary, each a phrase that no other line is a spelling of."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 ({error}); a vocabulary is one phrase a line") from error
    phrases = text.removesuffix("\n").split("\n") if text else []
    lines: dict[str, int] = {}
    for number, phrase in enumerate(phrases, start=1):
        letters = phrase_letters(phrase)
        if not letters or phrase != phrase.strip():
            raise RecordError(f"{path}:{number}", f"{phrase!r} is no phrase; give one a line, without blanks around it")
        if letters in lines:
            raise RecordError(
                f"{path}:{number}", f"{phrase!r} is line {lines[letters]} in another spelling; delete one of them"
            )
        lines[letters] = number
    return phrases
