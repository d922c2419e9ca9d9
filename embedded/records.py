"""A paper on its way into the tables and back out of them."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sciret.embedded.schema import FACETS
from sciret.encoded import EncodedPaper, Vector
from sciret.encoders.analysis import count_terms
from sciret.errors import StoreError
from sciret.paper import Paper
from sciret.store import LISTS, NUMBERS

FP16 = np.dtype("<f2")
LARGEST = float(np.finfo(np.float16).max)


@dataclass(frozen=True, slots=True)
class Row:
    """Everything that is written of one paper, in the types of the columns."""

    id: str
    hash: str
    facets: tuple[str | int | None, ...]
    record: str
    dense: bytes | None
    sentence_vectors: bytes | None
    sentences: int
    terms: Mapping[str, int]

    @property
    def words(self) -> int:
        """How long the text is for BM25."""
        return sum(self.terms.values())

    @property
    def norm(self) -> float:
        """How long the vector of 1 + ln(count) is, for TF-IDF."""
        return math.sqrt(sum((1 + math.log(count)) ** 2 for count in self.terms.values()))


def to_row(encoded: EncodedPaper) -> Row:
    paper = encoded.paper
    if not is_id(paper.id):
        raise StoreError(f"paper id {paper.id!r}: an id is text that is not empty and has no NUL or lone surrogate")
    if encoded.sentence_vectors is not None and len(encoded.sentence_vectors) != len(encoded.sentences):
        raise StoreError(
            f"paper {paper.id!r}: {len(encoded.sentence_vectors)} sentence vectors for {len(encoded.sentences)} "
            f"sentences; encode it again"
        )
    return Row(
        id=paper.id,
        hash=paper.content_hash,
        facets=tuple(_facet(paper, name) for name in FACETS),
        record=_record(encoded),
        dense=_blob(encoded.dense, paper.id),
        sentence_vectors=_blob(encoded.sentence_vectors, paper.id),
        sentences=len(encoded.sentences),
        terms=count_terms(paper.text),
    )


@dataclass(frozen=True, slots=True)
class Stored:
    """One paper as it was read from the tables; decoding waits until somebody wants to see it."""

    id: str
    num: int
    record: str
    dense: bytes | None
    sentence_vectors: bytes | None
    model: str
    dims: int

    def decode(self) -> EncodedPaper:
        content = json.loads(self.record)
        return EncodedPaper(
            paper=Paper.from_dict(content["paper"]),
            model=self.model,
            dense=None if self.dense is None else to_vectors(self.dense, self.dims)[0],
            sentences=tuple(content["sentences"]),
            roles=tuple(content["roles"]),
            sentence_vectors=None if self.sentence_vectors is None else to_vectors(self.sentence_vectors, self.dims),
            tokens=content["tokens"],
            keyphrases=content["keyphrases"],
            truncated=content["truncated"],
        )


def read(connection: sqlite3.Connection, ids: Sequence[str]) -> list[Stored]:
    """Those of these papers that there are, each once, in the order given."""
    rows = connection.execute(
        "SELECT id, num, record, dense.vectors, sentences.vectors, model, dims "
        "FROM state, papers JOIN records USING (num) LEFT JOIN dense USING (num) LEFT JOIN sentences USING (num) "
        "WHERE id IN (SELECT value FROM json_each(?))",
        (ids_as_json(ids),),
    )
    found = {row[0]: Stored(*row) for row in rows}
    return [found[paper_id] for paper_id in dict.fromkeys(ids) if paper_id in found]


def dims_of(encoded: Iterable[EncodedPaper], known: int | None) -> int | None:
    """The one length that all vectors share, `known` if the store has some already."""
    for paper in encoded:
        for matrix in (paper.dense, paper.sentence_vectors):
            if matrix is None:
                continue
            known = known or matrix.shape[-1]
            if matrix.shape[-1] != known:
                raise StoreError(
                    f"paper {paper.paper.id!r}: a vector of {matrix.shape[-1]} numbers where the store has {known}; "
                    f"ingest into a new store"
                )
    return known


def to_vectors(blob: bytes, dims: int) -> Vector:
    """The fp16 rows of one or several blobs, at a fifth of the time that `astype(float32)` takes.

    Widening a half as a signed integer puts its sign at the top; 13 bits further up its fraction is where a float
    has it. The copies of the sign in between are cleared, and what is left to mend is the bias of the exponent.
    """
    bits = np.frombuffer(blob, "<i2").astype(np.int32)
    bits <<= 13
    bits &= np.int32(-0x70000001)
    floats = bits.view(np.float32)
    floats *= np.float32(2.0**112)
    return floats.reshape(-1, dims)  # [n, d]


def is_id(text: str) -> bool:
    """SQLite could not tell an id with a NUL from its beginning, nor store a lone surrogate."""
    return bool(text) and "\0" not in text and is_unicode(text)


def fold(value: str) -> str:
    """What is compared instead of a text, so that case does not matter."""
    return value.casefold()


def member(value: str) -> str:
    """A value as it stands in the facet of a list: JSON has no line break within a string."""
    return f"\n{json.dumps(fold(value))}\n"


def _facet(paper: Paper, name: str) -> str | int | None:
    value = getattr(paper, name)
    if name in NUMBERS:
        return value  # type: ignore[no-any-return]
    if name in LISTS:
        return "".join(member(item) for item in value)
    return fold(value or "")


def _record(encoded: EncodedPaper) -> str:
    content: dict[str, Any] = {
        "paper": encoded.paper.to_dict(),
        "sentences": encoded.sentences,
        "roles": encoded.roles,
        "tokens": _floats(encoded.tokens),
        "keyphrases": _floats(encoded.keyphrases),
        "truncated": encoded.truncated,
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    if not is_unicode(text):
        raise StoreError(f"paper {encoded.paper.id!r}: a lone surrogate in its text; mend or leave out the record")
    return text


def _floats(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: float(weight) for name, weight in weights.items()}  # an encoder's weights may be numpy's


def _blob(matrix: Vector | None, paper_id: str) -> bytes | None:
    if matrix is None:
        return None
    if not np.abs(matrix).max(initial=0) <= LARGEST:  # NaN is not either
        raise StoreError(f"paper {paper_id!r}: a vector that is not finite; encode it again")
    return matrix.astype(FP16).tobytes()


def is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def ids_as_json(ids: Sequence[str]) -> str:
    """For `json_each`, which takes any number of values where bound parameters have a limit."""
    return json.dumps([paper_id for paper_id in ids if is_id(paper_id)])
