"""A paper on its way into the tables and back out of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sciret.embedded.postings import FACET, KEYPHRASES, TOKENS, WORDS
from sciret.embedded.schema import FACETS
from sciret.encoded import EncodedPaper, Vector
from sciret.encoders.analysis import count_terms
from sciret.encoders.halves import to_bytes, to_vectors
from sciret.encoders.learned import top
from sciret.encoders.lexical import tf_norm
from sciret.paper import Paper
from sciret.storable import check, checked_json, fold, is_id
from sciret.store import LISTS, NUMBERS


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
    tokens: Mapping[str, float]
    keyphrases: Mapping[str, float]

    @property
    def features(self) -> Mapping[str, Mapping[str, float]]:
        """What the index keeps of the paper, by channel."""
        return {
            WORDS: self.terms,
            TOKENS: self.tokens,
            KEYPHRASES: self.keyphrases,
            FACET: {fold(name): self.keyphrases[name] for name in top(self.keyphrases)},
        }

    @property
    def words(self) -> int:
        """How long the text is for BM25."""
        return sum(self.terms.values())

    @property
    def norm(self) -> float:
        """How long the vector of 1 + ln(count) is, for TF-IDF."""
        return tf_norm(self.terms)


def to_row(encoded: EncodedPaper) -> Row:
    check(encoded)
    paper = encoded.paper
    return Row(
        id=paper.id,
        hash=paper.content_hash,
        facets=tuple(_facet(paper, name) for name in FACETS),
        record=_record(encoded),
        dense=_blob(encoded.dense, paper.id),
        sentence_vectors=_blob(encoded.sentence_vectors, paper.id),
        sentences=len(encoded.sentences),
        terms=count_terms(paper.text),
        tokens=_weighty(encoded.tokens),
        keyphrases=_weighty(encoded.keyphrases),
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
    return checked_json(json.dumps(content, ensure_ascii=False, separators=(",", ":")), encoded.paper.id)


def _weighty(weights: Mapping[str, float]) -> dict[str, float]:
    """A weight of 0 is no feature."""
    return {name: weight for name, weight in _floats(weights).items() if weight}


def _floats(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: float(weight) for name, weight in weights.items()}  # an encoder's weights may be numpy's


def _blob(matrix: Vector | None, paper_id: str) -> bytes | None:
    return None if matrix is None else to_bytes(matrix, paper_id)


def ids_as_json(ids: Sequence[str]) -> str:
    """For `json_each`, which takes any number of values where bound parameters have a limit."""
    return json.dumps([paper_id for paper_id in ids if is_id(paper_id)])
