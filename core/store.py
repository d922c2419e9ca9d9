"""Store: what retrieval needs of a place that keeps papers. One protocol, one test suite, two stores."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from sciret.encoded import EncodedPaper, EncodedQuery, Vector
from sciret.errors import QueryError

Channel = Literal["bm25", "tfidf", "casper", "dense", "sentence"]
SparseChannel = Literal["bm25", "tfidf", "casper"]
Lexical = Literal["bm25", "tfidf"]
Sparse = Literal["bm25", "tfidf", "casper", "both"]
"""The sparse side of a score: one sparse channel, or BM25 and CASPER with a share each."""
CHANNELS: tuple[Channel, ...] = get_args(Channel)
SPARSE: tuple[Sparse, ...] = get_args(Sparse)
SPARSE_CHANNELS: tuple[SparseChannel, ...] = get_args(SparseChannel)
LEXICAL: tuple[Lexical, ...] = get_args(Lexical)
"""Those that compare words as they are written; the other one compares what a model made of them."""

Op = Literal["=", "!=", ">=", "<=", ">", "<"]
NUMBERS = ("year",)
TEXTS = ("id", "title", "venue", "doi", "url", "language", "type", "source", "access", "date", "embargo_end")
LISTS = ("authors", "keywords", "collections", "references")
DERIVED = ("keyphrase",)
"""Not of the paper but of what the model made of it: its keyphrases of most weight. They are compared as lists are."""
FIELDS = (*NUMBERS, *TEXTS, *LISTS, *DERIVED)
_CONDITION = re.compile(r"\s*([a-z_]+)\s*(>=|<=|!=|=|>|<)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Condition:
    """One `--where`. On a list field `=` means "has this value". Text is compared without regard to case."""

    field: str
    op: Op
    value: str | int

    @classmethod
    def parse(cls, text: str) -> Condition:
        match = _CONDITION.fullmatch(text)
        if not match:
            raise QueryError(f"--where {text!r}: expected FIELD=VALUE, or a comparison such as 'year>=2015'")
        name, op, value = match[1], match[2], match[3].strip()
        if name in NUMBERS:
            if not re.fullmatch(r"-?\d{1,9}", value):
                raise QueryError(f"--where {text!r}: {name} is compared with a whole number")
            return cls(name, op, int(value))  # type: ignore[arg-type]  # the pattern admits no other operator
        if name not in FIELDS:
            raise QueryError(f"--where {text!r}: no field {name!r}; there are {', '.join(FIELDS)}")
        if name in (*LISTS, *DERIVED) and op not in ("=", "!="):
            raise QueryError(f"--where {text!r}: {name} holds several values: only = and != apply")
        return cls(name, op, value)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which papers a search may return. Papers that are not open are left out unless `restricted` is set."""

    where: tuple[Condition, ...] = ()
    ids: tuple[str, ...] | None = None
    """Only these papers (the candidates of an evaluation query); None means all."""
    restricted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Completed:
    """Both sides of every candidate, nothing missing. All arrays follow `ids`."""

    ids: tuple[str, ...]
    dense: Vector  # [n] cosine
    sparse: Vector
    """[n] TF-IDF cosine, or BM25 as a share of the highest score the query could reach, both in 0..1; or a CASPER
    vector's projection onto the query's, which is 1 for the query itself and seldom more for another text; or the
    weighed sum of the last two."""
    terms: tuple[str, ...]
    """The query's words as stems, of BM25 and TF-IDF."""
    tokens: tuple[str, ...]
    """The query's words as wordpieces, of CASPER."""
    keyphrases: tuple[str, ...]
    """The query's concepts, of CASPER."""
    contributions: Vector  # [n, terms + tokens + keyphrases], rows sum to `sparse`
    sentence_vectors: tuple[Vector, ...]  # n matrices [S_i, d]; empty when they were not asked for
    load: Callable[[int], EncodedPaper]
    """Decodes the i-th candidate's stored record; called for the hits that are shown, not for every candidate."""


class Store(Protocol):
    """Ids are given and returned as strings; an id that is not in the store is left out of the answer."""

    @property
    def model(self) -> str | None:
        """Fingerprint of the model the store was filled by; None while it is empty."""

    @property
    def channels(self) -> Sequence[Channel]:
        """Those that can propose candidates here: an index without nested sentences has none for single ones, and a
        store whose papers have no learned features (none yet, or of a model that gives none) has no `casper`."""

    def hashes(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Content hash of each of these papers that the store has."""

    def write(self, papers: Sequence[EncodedPaper]) -> int:
        """Insert or replace; how many. On return the papers survive a crash and are searchable.

        Raises PapersRefusedError where the store refuses single papers and has written the others. With any other
        error it may have written some of them, as a run that continues finds by their hashes.
        """

    def delete(self, ids: Sequence[str]) -> int:
        """Remove these papers; how many there were."""

    def get(self, ids: Sequence[str]) -> Mapping[str, EncodedPaper]:
        """These papers with everything stored of them, whatever their access."""

    def candidates(self, query: EncodedQuery, channels: Sequence[Channel], k: int, scope: Scope) -> Sequence[str]:
        """The union of each channel's k best papers, never `query.like`; of `scope.ids` all that the scope admits."""

    def complete(self, query: EncodedQuery, ids: Sequence[str], sparse: Sparse | None, *, sentences: bool) -> Completed:
        """Exact scores of these papers on both sides, and their sentence vectors when asked for."""

    def stats(self) -> Mapping[str, int | str | None]:
        """Counts and identity, for people: papers, sentences, model, schema, bytes, ..."""

    def hurry(self) -> None:
        """Somebody wants to end: what does not answer is not waited for any longer. May be called by any thread."""

    def close(self) -> None:
        """Release files and connections. Idempotent."""
