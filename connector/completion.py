"""Exact scores of chosen papers on both sides, from what the index keeps of each: nothing is missing or approximate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sciret.connector import learned
from sciret.connector.documents import RECORD_FIELDS, to_paper, unpack_vectors
from sciret.connector.features import unescape
from sciret.connector.statistics import Words
from sciret.encoded import EncodedQuery
from sciret.encoders.halves import given_cosines, matrices
from sciret.encoders.lexical import Floats, bm25, rounded, tfidf
from sciret.encoders.sparse_side import Summands, shares
from sciret.store import Completed, Lexical, Sparse, SparseChannel

LEXICAL_FIELDS = ("words", "word_count", "inverse_tf_norm")
FIELDS = (*RECORD_FIELDS, *LEXICAL_FIELDS)
"""Of each candidate. The record comes along, since which candidates are hits is known only when all are scored."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One paper as it was fetched, its vectors still in the bytes they travelled in."""

    source: Mapping[str, Any]
    dense: bytes | None
    sentences: bytes | None
    dims: int

    @classmethod
    def of(cls, source: Mapping[str, Any]) -> Candidate:
        return cls(source, *unpack_vectors(source.get("vectors")))


def complete(
    sources: Sequence[Mapping[str, Any]],
    query: EncodedQuery,
    words: Words | None,
    sparse: Sparse | None,
    *,
    sentences: bool,
) -> Completed:
    """A side that the query or a paper has no vector for is 0."""
    papers = [Candidate.of(source) for source in sources]
    weighed = shares(sparse).items()
    side = Summands.together(((_summands(sources, query, words, each), part) for each, part in weighed), len(papers))
    dims = max((paper.dims for paper in papers), default=0)
    return Completed(
        ids=tuple(source["id"] for source in sources),
        dense=given_cosines([paper.dense for paper in papers], query.dense),
        sparse=side.cells.sum(axis=1).astype(np.float32),
        terms=side.terms,
        tokens=side.tokens,
        keyphrases=side.keyphrases,
        contributions=side.cells.astype(np.float32),
        sentence_vectors=matrices([paper.sentences for paper in papers], dims) if sentences else (),
        load=lambda i: to_paper(papers[i].source),
    )


def _summands(
    sources: Sequence[Mapping[str, Any]], query: EncodedQuery, words: Words | None, channel: SparseChannel
) -> Summands:
    if channel == "casper":
        projection = learned.project(query)
        tokens, keyphrases = (tuple(map(unescape, names)) for names in (projection.tokens, projection.keyphrases))
        return Summands(learned.contributions(sources, projection), tokens=tokens, keyphrases=keyphrases)
    if words is None:  # the query has none
        return Summands(np.zeros((len(sources), 0)))
    return Summands(contributions(sources, words, channel), terms=words.terms)


def contributions(sources: Sequence[Mapping[str, Any]], words: Words, sparse: Lexical) -> Floats:
    """What each word of the query adds to each paper's score."""
    counts = _counts(sources, words.terms)  # [n, t]
    rows, columns = np.nonzero(counts)
    found = counts[rows, columns]
    if sparse == "bm25":
        lengths = rounded(np.array([source["word_count"] for source in sources], np.int64)) / words.collection.average
        parts = bm25(found, lengths[rows])
    else:
        norms = 1 / np.array([source["inverse_tf_norm"] or 1.0 for source in sources])
        parts = tfidf(found, norms[rows])
    cells = np.zeros_like(counts)
    cells[rows, columns] = words.weights(sparse)[columns] * parts
    return cells  # [n, t]


def _counts(sources: Sequence[Mapping[str, Any]], terms: Sequence[str]) -> Floats:
    columns = {term: column for column, term in enumerate(terms)}
    counts = np.zeros((len(sources), len(terms)))
    for row, source in enumerate(sources):
        words = source["words"].split(" ")
        for term in columns.keys() & set(words):  # few, where counting all words would take most of the completion
            counts[row, columns[term]] = words.count(term)
    return counts  # [n, t]
