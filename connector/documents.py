"""A paper as a document of the index, and back. What a search compares is beside what people and dashboards read."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

import numpy as np

from sciret.connector.features import escape_weights, unescape_weights
from sciret.encoded import EncodedPaper, Vector
from sciret.encoders.analysis import count_terms
from sciret.encoders.halves import FP16, to_bytes, to_vectors
from sciret.encoders.learned import top
from sciret.encoders.lexical import tf_norm
from sciret.errors import StoreError
from sciret.paper import Paper
from sciret.storable import check, checked_json, fold
from sciret.store import LISTS, TEXTS

LONGEST_ID = 512
"""Bytes that OpenSearch takes as `_id`."""
LONGEST_TERM = 32_766
"""Bytes of a term; an id is one, since ties are sorted by it."""
MOST_NESTED = 10_000
"""Nested documents that OpenSearch takes in one; sentences beyond are found by the others of their paper."""
YEARS = range(-(2**31), 2**31)
_HASHED = "sha256:"
_HEADER = struct.Struct("<BBH")
_VERSION = 1
_DENSE, _SENTENCES = 1, 2
_OTHERWISE = ("sentences", "deleted")
"""Fields of a paper whose names mean something else in the index, or nothing: they are kept under `given`."""
_BIBLIOGRAPHY = tuple(field.name for field in fields(Paper) if field.name not in _OTHERWISE)

RECORD_FIELDS = (
    *_BIBLIOGRAPHY,
    *("given", "sentence_texts", "roles", "truncated", "model", "vectors", "tokens", "keyphrases"),
)
"""Of `_source`: what `to_paper` needs."""


def document_id(paper_id: str) -> str:
    """The `_id` of a paper: its own id, or a hash where that is too long. `id` always has the paper's own."""
    if len(paper_id.encode()) <= LONGEST_ID and not paper_id.startswith(_HASHED):
        return paper_id
    return _HASHED + hashlib.sha256(paper_id.encode()).hexdigest()


def to_document(encoded: EncodedPaper, *, nested: bool, beta: float, now: datetime) -> dict[str, Any]:
    """Everything that is written of a paper. Raises StoreError for what could not be kept or found again."""
    check(encoded)
    paper = encoded.paper
    _refuse_unindexable(paper)
    terms = count_terms(paper.text)
    length = tf_norm(terms)
    document = {
        **_bibliography(paper),
        "facets": facets(paper),
        "words": " ".join(term for term, count in terms.items() for _ in range(count)),
        "word_count": terms.total(),
        "inverse_tf_norm": 1 / length if length else 0.0,
        "sentence_texts": list(encoded.sentences),
        "sentence_count": len(encoded.sentences),
        "roles": list(encoded.roles),
        "content_hash": paper.content_hash,
        "model": encoded.model,
        "truncated": encoded.truncated,
        "ingested_at": now.isoformat(timespec="milliseconds"),
        **_sparse(encoded, beta),
        **_dense(encoded, nested=nested),
    }
    _refuse_unwritable(document, paper.id)
    return document


def _bibliography(paper: Paper) -> dict[str, Any]:
    """The fields that hold something. What their field in the index means otherwise is kept as it was given."""
    values = paper.to_dict()
    given = {name: values.pop(name) for name in _OTHERWISE if name in values}
    return {**values, "has_abstract": bool(paper.abstract), **({"given": given} if given else {})}


def facets(paper: Paper) -> dict[str, Any]:
    """What conditions are asked of: text without case, a missing one is empty, a list has each of its values."""
    texts = {name: fold(getattr(paper, name) or "") for name in TEXTS}
    return {**texts, **{name: [fold(item) for item in getattr(paper, name)] for name in LISTS}}


def _sparse(encoded: EncodedPaper, beta: float) -> dict[str, Any]:
    tokens = escape_weights(encoded.tokens, encoded.paper.id)
    keyphrases = escape_weights(encoded.keyphrases, encoded.paper.id)
    if not tokens and not keyphrases:
        return {}
    squares = sum(w * w for w in tokens.values()) + beta * sum(w * w for w in keyphrases.values())
    return {
        **({"tokens": tokens} if tokens else {}),
        **({"keyphrases": keyphrases, "keyphrase_terms": _keyphrase_terms(encoded)} if keyphrases else {}),
        "sparse_norm": math.sqrt(squares),
    }


def _keyphrase_terms(encoded: EncodedPaper) -> list[str]:
    """What conditions are asked of and dashboards count: few, or everything would be about everything."""
    weighty = {name: weight for name, weight in encoded.keyphrases.items() if weight}
    return list(dict.fromkeys(map(fold, top(weighty))))


def _dense(encoded: EncodedPaper, *, nested: bool) -> dict[str, Any]:
    packed = pack_vectors(encoded)
    if packed is None:
        return {}
    found: dict[str, Any] = {"vectors": base64.b64encode(packed).decode("ascii")}
    if encoded.dense is not None:
        found["dense"] = _halves(encoded.dense)
    if nested and encoded.sentence_vectors is not None and len(encoded.sentences):
        found["sentences"] = [
            {"number": number, "text": text, **({"role": role} if role else {}), "vector": vector}
            for number, text, role, vector in zip(
                range(1, MOST_NESTED + 1),
                encoded.sentences,
                encoded.roles or (None,) * len(encoded.sentences),
                _halves(encoded.sentence_vectors),
                strict=False,  # the first one ends it
            )
        ]
    return found


def _halves(vectors: Vector) -> Any:
    """The numbers that a graph compares, as they come out of half precision: both stores score alike."""
    return vectors.astype(FP16).astype(np.float64).tolist()


def pack_vectors(encoded: EncodedPaper) -> bytes | None:
    """Document vector and sentence vectors in one: version, which of them, how long, and the rows. [<BBH] + fp16"""
    parts = [(_DENSE, encoded.dense), (_SENTENCES, encoded.sentence_vectors)]
    given = [(flag, matrix) for flag, matrix in parts if matrix is not None]
    if not given:
        return None
    dims = given[0][1].shape[-1]
    flags = sum(flag for flag, _ in given)
    rows = b"".join(to_bytes(matrix, encoded.paper.id) for _, matrix in given)
    return _HEADER.pack(_VERSION, flags, dims) + rows


def unpack_vectors(text: str | None) -> tuple[bytes | None, bytes | None, int]:
    """The rows of the document vector, those of the sentence vectors, and how long a vector is."""
    if text is None:
        return None, None, 0
    packed = base64.b64decode(text)
    version, flags, dims = _HEADER.unpack_from(packed)
    if version != _VERSION:
        raise StoreError(f"vectors of version {version}, this sciret knows {_VERSION}: upgrade sciret to read them")
    rows, size = packed[_HEADER.size :], dims * FP16.itemsize
    split = size if flags & _DENSE else 0
    return rows[:split] if flags & _DENSE else None, rows[split:] if flags & _SENTENCES else None, dims


def to_paper(source: Mapping[str, Any]) -> EncodedPaper:
    """From a document's `_source`, of which `RECORD_FIELDS` are enough."""
    given = source.get("given") or {}
    values = {name: source[name] for name in _BIBLIOGRAPHY if name in source}
    dense, sentences, dims = unpack_vectors(source.get("vectors"))
    return EncodedPaper(
        paper=Paper.from_dict({**values, **given}),
        model=source["model"],
        dense=None if dense is None else to_vectors(dense, dims)[0],
        sentences=tuple(source["sentence_texts"]),
        roles=tuple(source["roles"]),
        sentence_vectors=None if sentences is None else to_vectors(sentences, dims),
        tokens=unescape_weights(source.get("tokens", {})),
        keyphrases=unescape_weights(source.get("keyphrases", {})),
        truncated=source["truncated"],
    )


def _refuse_unindexable(paper: Paper) -> None:
    if len(paper.id.encode()) > LONGEST_TERM:
        raise StoreError(
            f"paper id {paper.id[:40]!r}…: OpenSearch takes ids of up to {LONGEST_TERM:,} bytes; shorten it"
        )
    if paper.year is not None and paper.year not in YEARS:
        raise StoreError(f"paper {paper.id!r}: {paper.year} is no year; correct the record")


def _refuse_unwritable(document: Mapping[str, Any], paper_id: str) -> None:
    """What JSON or UTF-8 cannot say. The vectors are numbers that were looked at already."""
    words = {name: value for name, value in document.items() if name not in ("dense", "sentences", "vectors")}
    try:
        checked_json(json.dumps(words, ensure_ascii=False, allow_nan=False), paper_id)
    except ValueError as error:
        raise StoreError(f"paper {paper_id!r}: {error}; correct the record") from error
