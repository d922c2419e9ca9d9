"""From text to what the graph reads: token ids, and where each sentence lies among them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import nupunkt
from tokenizers import Encoding, Tokenizer

from sciret.encoders.bundle import TOKENIZER, Bundle
from sciret.errors import QueryError
from sciret.paper import Paper

Ints: TypeAlias = npt.NDArray[np.int64]

# nupunkt takes words such as "sleep." or "code." for abbreviations. None has four small letters and is followed by a
# capital: the rule finds a fifth of the boundaries that nupunkt misses, at equal precision (benchmarks/sentences.py).
_GLUED = re.compile(r"(?<=[a-z]{4}[.?!])\s+(?=[A-Z])")

# A model that reads 512 tokens sees about 3,000 characters of English. Five times as much is never an abstract, and
# splitting and tokenising what will not be read anyway must not take seconds.
CHARACTERS_PER_TOKEN = 32


@dataclass(frozen=True, slots=True, eq=False)
class ModelInput:
    """One text as the graph reads it, with the sentences that its vectors belong to."""

    ids: Ints  # [L]
    spans: Ints  # [R, 2] first token and end of each sentence that has tokens within the limit, R >= 1
    rows: Ints  # [S] which of the R vectors each sentence carries
    sentences: tuple[str, ...]  # S
    truncated: bool
    begin: int = 0
    """The first token that is the text's own: a prefix before it weighs nothing in a sparse vector."""

    def content(self, weighs: npt.NDArray[np.bool_]) -> Ints:
        """Positions [P] of the tokens of those wordpieces [V] that weigh."""
        return self.begin + np.flatnonzero(weighs[self.ids[self.begin :]])


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Wordpieces as the tokenizer writes them, by id."""

    names: tuple[str, ...]
    """Empty for an id that is not used."""
    special: tuple[int, ...]
    """Ids of [CLS], [SEP] and the like, which are no words of a text."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text with its sentences and the character at which each begins."""

    text: str
    starts: tuple[int, ...]
    sentences: tuple[str, ...]
    cut: bool = False


class TextReader:
    """Turns papers and queries into model inputs with the bundle's own tokenizer."""

    def __init__(self, bundle: Bundle) -> None:
        self._tokenizer = Tokenizer.from_file(str(bundle.path(TOKENIZER)))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(bundle.max_length)
        self._tokenizer.encode_special_tokens = True  # a "[SEP]" written in an abstract is text, not a separator
        self._paper_prefix = bundle.paper_prefix
        self._max_length = bundle.max_length
        self._characters = bundle.max_length * CHARACTERS_PER_TOKEN

    @property
    def vocabulary(self) -> Vocabulary:
        ids = self._tokenizer.get_vocab()
        names = [""] * (max(ids.values()) + 1)
        for name, number in ids.items():
            names[number] = name
        added = self._tokenizer.get_added_tokens_decoder()
        return Vocabulary(tuple(names), tuple(sorted(number for number in added if added[number].special)))

    def read_paper(self, paper: Paper) -> ModelInput:
        """`[CLS] title [SEP] abstract [SEP]`; without an abstract the title is the one sentence."""
        title = whole(paper.title, self._characters)
        if paper.sentences:
            abstract = given(paper.sentences, self._characters)
        else:
            abstract = split(paper.abstract, self._characters)
        if not abstract.sentences:
            return self._read(self._paper_prefix, title)
        # A title that was taken from the abstract says nothing new, and read twice it weighs too much.
        if not title.text or f"{abstract.text} ".startswith(f"{title.text} "):
            return self._read(self._paper_prefix, abstract)
        title = self._shortened(title)
        encoding = self._tokenizer.encode(self._paper_prefix + title.text, abstract.text)
        truncated = title.cut or bool(encoding.overflowing)
        begin = _first_own(encoding, len(self._paper_prefix))
        return _model_input(encoding, 1, abstract, begin=begin, truncated=truncated)

    def read_query(self, text: str, prefix: str = "") -> ModelInput:
        """The prefix is read by the model, but belongs to no sentence."""
        query = split(text, self._characters)
        if not self._tokenizer.encode(query.text, add_special_tokens=False).ids:
            raise QueryError("the query is empty: give at least one word to search for")
        return self._read(prefix, query)

    def _shortened(self, title: Passage) -> Passage:
        """At most half the room, for two reasons: the abstract needs the rest, and what the tokenizer cuts off both
        texts it combines each with each, which takes a minute for two long ones."""
        encoding = self._tokenizer.encode(title.text, add_special_tokens=False)
        half = self._max_length // 2
        if len(encoding.ids) <= half:
            return title
        return replace(title, text=title.text[: encoding.offsets[half][0]], cut=True)

    def _read(self, prefix: str, passage: Passage) -> ModelInput:
        encoding = self._tokenizer.encode(prefix + passage.text)
        begin = _first_own(encoding, len(prefix))
        return _model_input(encoding, 0, passage, len(prefix), begin=begin, truncated=bool(encoding.overflowing))


def split(text: str, limit: int) -> Passage:
    """Sentences found by nupunkt, and those it glues together; none where the text is blank."""
    text, cut = _readable(text.strip(), limit)
    found = {start for start, end in nupunkt.sent_spans(text) if text[start:end].strip()}
    starts = sorted(found.union(match.end() for match in _GLUED.finditer(text)))
    spans = pairwise([*starts, len(text)])
    return Passage(text, tuple(starts), tuple(text[start:end].strip() for start, end in spans), cut)


def given(sentences: Sequence[str], limit: int) -> Passage:
    """Sentences as the source gave them: all are kept, also blank ones and those past the limit."""
    starts = accumulate((len(sentence) + 1 for sentence in sentences[:-1]), initial=0)
    text, cut = _readable(" ".join(sentences), limit)
    return Passage(text, tuple(starts), tuple(sentences), cut)


def whole(text: str, limit: int) -> Passage:
    """A title is one sentence, whatever stands in it."""
    text, cut = _readable(text.strip(), limit)
    return Passage(text, (0,), (text,), cut)


def _readable(text: str, limit: int) -> tuple[str, bool]:
    """Cut, and whether it was. A lone surrogate, which no tokenizer accepts, becomes one "?": offsets stay valid."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8"), len(text) > limit


def _first_own(encoding: Encoding, prefix: int) -> int:
    """Number of the first token that ends past a prefix of so many characters."""
    if not prefix:
        return 0
    ends = (end for _, end in encoding.offsets)
    owners = encoding.sequence_ids
    own = (i for i, end in enumerate(ends) if owners[i] is not None and (end > prefix or owners[i] > 0))
    return next(own, len(encoding.ids))


def _model_input(
    encoding: Encoding, sequence: int, passage: Passage, shift: int = 0, *, begin: int, truncated: bool
) -> ModelInput:
    starts = np.array(passage.starts, dtype=np.int64) + shift  # [S]
    spans, rows = _place(encoding, sequence, starts)
    ids = np.array(encoding.ids, dtype=np.int64)
    return ModelInput(ids, spans, rows, passage.sentences, truncated or passage.cut, begin)


def _place(encoding: Encoding, sequence: int, starts: Ints) -> tuple[Ints, Ints]:
    """Token spans of the sentences that were read, and the row of them that each sentence carries.

    A sentence without a token of its own (past the limit, or nothing but control characters) carries the vector of
    the last one read before it, so that sentence numbers stay valid. Where no sentence has a token, the one vector is
    that of the whole input.
    """
    tokens = [i for i, of in enumerate(encoding.sequence_ids) if of == sequence]
    offsets = encoding.offsets  # copied out of the tokenizer at each look, so looked at once
    # By its last character, because the first may be the space before the word.
    last = np.array([offsets[i][1] - 1 for i in tokens], dtype=np.int64)
    owner = np.searchsorted(starts, last, side="right") - 1  # [T] sentence of each token, -1 for the prefix
    read, first = np.unique(owner, return_index=True)  # [R] sentences with tokens, and the first token of each
    if read.size and read[0] < 0:
        read, first = read[1:], first[1:]
    if not read.size:
        return np.array([[0, len(encoding.ids)]]), np.zeros(len(starts), dtype=np.int64)
    begin = np.array(tokens, dtype=np.int64)[first]
    spans = np.stack([begin, np.append(begin[1:], tokens[-1] + 1)], axis=1)
    rows = np.searchsorted(read, np.arange(len(starts)), side="right") - 1
    return spans, np.maximum(rows, 0)
