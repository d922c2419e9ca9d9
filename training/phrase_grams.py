"""Candidate phrases of a corpus: author keyphrases, and runs of words in titles and abstracts like noun phrases.

Method. A text is cut at punctuation and at words that no term contains (function words, verbs and adjectives of
academic prose, numbers); of what is left between two cuts, every run of one to five words is a candidate that does not
split a hyphenated compound, does not end like an adjective, adverb or participle, and does not consist of generic nouns
alone. Abbreviations that a text defines are replaced by what they stand for. Which candidates are terms is decided by
counts over the whole corpus (`phrase_counts.py`).

Why not a library: those that are kept up either need a tagger's model (spaCy, pke, KeyBERT, PyTextRank) that a package
registry does not carry and that reads some hundred abstracts a second, or score the phrases of one text at a time
(YAKE, RAKE), which says little about what is a term in a field. A vocabulary is chosen from a whole corpus, where
counts are reliable, and ten million papers have to be read twice: here a block of texts becomes a few arrays, and only
tokenisation runs word by word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sciret.encoders import generic_words as generic
from sciret.encoders.abbreviations import definitions
from sciret.encoders.phrase_words import (
    HYPHENS,
    TOKEN,
    Keys,
    extended,
    fold_word,
    phrase_key,
    readable,
    word_key,
    words_of,
)
from sciret.paper import Paper
from sciret.training.word_habits import WordHabits

MAX_WORDS = 5
BLOCK_TOKENS = 1_000_000
"""Tokens a block: about 5,000 abstracts, 150 MB while they are worked on."""

HYPHEN, MARK, SPLIT, CUT, WEAK, COMMON, NO_END, ADVERB, PARTICIPLE, NO_UNIGRAM = (1 << bit for bit in range(10))
VERB = 0.78
"""From this share of verb-like occurrences on a word cuts; below it, from 0.45 on, it is only no phrase by itself."""
END = 0.06
UNIGRAM_END = 0.2
"""Words that end a run of words more rarely are adjectives: no end of a phrase, or no phrase by themselves."""
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint16]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Grams:
    """Occurrences of candidates in a block of papers, in the order of the text for each length. All arrays are [m]."""

    keys: Keys
    documents: npt.NDArray[np.int32]  # number of the paper in the whole corpus
    words: npt.NDArray[np.uint8]
    alone: Mask
    """The candidate fills the space between two cuts: it is not part of a longer one here."""
    starts: Integers
    """Place of the first token; -1 for an author's keyphrase."""
    ends: Integers
    surfaces: Surfaces


@dataclass(frozen=True, slots=True, eq=False)
class Surfaces:
    """How the candidates of a block are written."""

    tokens: list[str]
    keyphrases: list[str]  # of the authors, in the order of the rows whose start is -1

    def text(self, start: int, end: int) -> str:
        """The words from one place to another, in lower case, with the hyphens that were there."""
        if start < 0:
            return self.keyphrases[end]
        text = " ".join(self.tokens[start : end + 1]).lower()
        return _AROUND_HYPHEN.sub("-", text)


_AROUND_HYPHEN = re.compile(r" [-‐‑–] ")


def blocks(papers: Iterable[Paper], known: WordTable, first: int = 0, tokens: int = BLOCK_TOKENS) -> Iterator[Grams]:
    """In the order given; documents are numbered from `first` as they come."""
    block = _Block(first)
    for number, paper in enumerate(papers, first):
        block.add(number, paper)
        if len(block.tokens) >= tokens:
            yield block.grams(known)
            block = _Block(number + 1)
    if block.tokens:
        yield block.grams(known)


class _Block:
    def __init__(self, first: int) -> None:
        self.first = first
        self.tokens: list[str] = []
        self.lengths: list[int] = []
        self.keyphrases: list[str] = []
        self.owners: list[int] = []

    def add(self, number: int, paper: Paper) -> None:
        before = len(self.tokens)
        self.tokens += tokens_of(f"{paper.title} | {paper.abstract}")
        for keyphrase in author_keyphrases(paper):
            self.keyphrases.append(keyphrase)
            self.owners.append(number)
        self.tokens.append("|")
        self.lengths.append(len(self.tokens) - before)

    def grams(self, known: WordTable) -> Grams:
        infos = known.infos(self.tokens)  # [tokens]
        documents = np.repeat(np.arange(self.first, self.first + len(self.lengths), dtype=np.int32), self.lengths)
        starts, ends, keys, words, alone = _runs(infos["f0"], infos["f1"], infos["f2"])
        authors = len(self.keyphrases)
        return Grams(
            keys=np.concatenate((keys, np.array([phrase_key(k) for k in self.keyphrases], np.uint64))),
            documents=np.concatenate((documents[starts], np.array(self.owners, np.int32))),
            words=np.concatenate((words, np.array([len(words_of(k)) for k in self.keyphrases], np.uint8))),
            alone=np.concatenate((alone, np.zeros(authors, np.bool_))),
            starts=np.concatenate((starts, np.full(authors, -1))),
            ends=np.concatenate((ends, np.arange(authors))),
            surfaces=Surfaces(self.tokens, self.keyphrases),
        )


def _runs(own: Keys, powers: Keys, flags: Flags) -> tuple[Integers, Integers, Keys, npt.NDArray[np.uint8], Mask]:
    """Starts, ends (places among the tokens), keys, lengths in words, and whether the run stands alone; each [m]."""
    hyphen = (flags & HYPHEN) > 0
    places = np.flatnonzero(~hyphen)
    glued = hyphen[np.maximum(places - 1, 0)]  # to the word before
    own, powers, flags = own[places], powers[places], flags[places]
    split = (flags & SPLIT) > 0
    glued &= ~split
    glued[1:] &= ~split[:-1]
    binds = np.append(glued[1:], False)  # the word after
    cut = ((flags & (MARK | SPLIT)) > 0) | (((flags & CUT) > 0) & ~glued & ~binds)
    adverb, participle = (flags & ADVERB) > 0, (flags & PARTICIPLE) > 0
    begins = ~cut & ~glued & (~adverb | np.append(participle[1:], False))
    closes = ~cut & ~binds & ((flags & NO_END) == 0)
    before, after = np.append(True, cut[:-1]), np.append(cut[1:], True)
    weak = (flags & (WEAK | CUT)) > 0
    vague = (flags & (WEAK | CUT | COMMON)) > 0
    found: list[tuple[Integers, Integers, Keys, npt.NDArray[np.uint8], Mask]] = []
    alive, key, any_weak, all_vague = begins, own, weak, vague
    for n in range(1, MAX_WORDS + 1):
        if n > 1:
            last = n - 1
            following = slice(last, None)
            alive = alive[:-1] & ~cut[following] & ~adverb[following]
            key = extended(key[:-1], own[following], powers[following])
            any_weak = any_weak[:-1] | weak[following]
            all_vague = all_vague[:-1] & vague[following]
        valid = alive & closes[n - 1 :] & ~(any_weak & all_vague)
        if n == 1:
            valid = valid & ((flags & NO_UNIGRAM) == 0)
        rows = np.flatnonzero(valid)
        alone = before[rows] & after[rows + n - 1]
        found.append((places[rows], places[rows + n - 1], key[rows], np.full(len(rows), n, np.uint8), alone))
    starts, ends, keys, words, alones = zip(*found, strict=True)
    return (
        np.concatenate(starts),
        np.concatenate(ends),
        np.concatenate(keys),
        np.concatenate(words),
        np.concatenate(alones),
    )


class WordTable(dict[str, int]):
    """Key, power and flags of each token that was met, forgotten from time to time so that it stays small."""

    def __init__(self, habits: WordHabits | None = None) -> None:
        super().__init__()
        self._habits = habits or WordHabits()
        self._infos: list[tuple[int, int, int]] = []
        self._known = np.empty(0, _INFO)

    def infos(self, tokens: Sequence[str]) -> npt.NDArray[np.void]:
        if len(self) > _REMEMBERED:
            self.clear()
            self._infos, self._known = [], np.empty(0, _INFO)
        rows = np.fromiter(map(self.__getitem__, tokens), np.int32, len(tokens))
        self._known = np.append(self._known, np.array(self._infos[len(self._known) :], _INFO))
        return self._known[rows]

    def __missing__(self, token: str) -> int:
        if token in HYPHENS:
            self._infos.append((0, 1, HYPHEN))
        elif token[0].isalnum():
            flags = form_flags(token) | habit_flags(token, self._habits)
            self._infos.append((*word_key(token), flags))
        else:
            self._infos.append((0, 1, MARK))
        self[token] = row = len(self)
        return row


_INFO = np.dtype("u8,u8,u2")
_REMEMBERED = 1 << 20


def form_flags(word: str) -> int:
    """What the word may do in a phrase by the lists of generic words and by its letters."""
    lower, folded = word.lower(), fold_word(word)
    if lower in generic.SPLITTING:
        return SPLIT | CUT
    flags = 0
    letter = len(word) == 1 and word.isupper() and word not in "AI"  # T cell, vitamin D
    if not letter and (len(lower) == 1 or lower in generic.CUTTING or not any(c.isalpha() for c in lower)):
        flags |= CUT
    if lower in generic.WEAK or folded in generic.WEAK:
        flags |= WEAK
    if lower in generic.COMMON or folded in generic.COMMON or letter:
        flags |= COMMON | NO_UNIGRAM
    if lower in generic.HEADS or folded in generic.HEADS:
        flags |= NO_END
    if lower.endswith("ly") and lower not in generic.NOUNS_LIKE_ADVERBS:
        flags |= ADVERB | NO_END
    if lower.endswith("ed") and len(lower) > 4 and lower not in generic.NOUNS_LIKE_PARTICIPLES:
        flags |= PARTICIPLE | NO_END
    digits = sum(c.isdigit() for c in lower)
    if len(lower) < (3 if word.isupper() else 4) or digits > len(lower) / 2:
        flags |= NO_UNIGRAM
    return flags


def habit_flags(word: str, habits: WordHabits) -> int:
    """What it may do by how the corpus uses it; by its ending where that is not known."""
    lower = word.lower()
    flags = 0
    verb = habits.verb_share(lower)
    if verb is not None and verb >= VERB:
        flags |= CUT
    elif verb is not None and verb >= 0.45:
        flags |= NO_UNIGRAM
    end = habits.end_share(lower)
    if end is None:
        adjective = lower.endswith(generic.ADJECTIVE_ENDS) and len(lower) > 4
        return flags | NO_END if adjective and lower not in generic.NOUNS_LIKE_ADJECTIVES else flags
    if end < END:
        flags |= NO_END
    if end < UNIGRAM_END:
        flags |= NO_UNIGRAM
    return flags


_COMPOUND = re.compile(r"[^\W_]+(?:-[^\W_]+)+")


def tokens_of(text: str) -> list[str]:
    """Words and marks, where generic compounds are a mark, and abbreviations what the text says they stand for."""
    text = readable(text)
    if "-" in text:
        text = _COMPOUND.sub(lambda found: "|" if found[0].lower() in generic.COMPOUNDS else found[0], text)
    defined = list(definitions(text))
    if not defined:
        return TOKEN.findall(text)
    meanings: dict[str, Sequence[str]] = {}
    for one in defined:
        meaning = meanings.setdefault(one.short, TOKEN.findall(text[one.start : one.end]))
        meanings.setdefault(f"{one.short}s", meaning)
    for one in reversed(defined):
        text = text[: one.end] + text[one.close :]
    return [word for token in TOKEN.findall(text) for word in meanings.get(token, (token,))]


_BRACKETS = re.compile(r"\s*[(\[][^)\]]*[)\]]")
_SPACES = re.compile(r"\s+")


def author_keyphrases(paper: Paper) -> Iterator[str]:
    """The paper's keywords that can be phrases of a vocabulary, cleaned, each once."""
    seen: set[int] = set()
    for given in paper.keywords:
        phrase = _SPACES.sub(" ", _BRACKETS.sub("", readable(given)).replace("|", " ")).strip(" .,;:-").lower()
        words = words_of(phrase)
        if not 1 <= len(words) <= MAX_WORDS or all(form_flags(word) & (CUT | WEAK) for word in words):
            continue
        key = phrase_key(phrase)
        if key not in seen and sum(map(len, words)) > 1:
            seen.add(key)
            yield phrase
