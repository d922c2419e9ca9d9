"""BM25 and TF-IDF over the postings of the query's words; the formulas are `encoders.lexical`'s."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sciret.embedded.catalogue import Catalogue, Snapshot
from sciret.embedded.contributions import Contribution, live_postings
from sciret.embedded.postings import WORDS
from sciret.encoders.analysis import count_terms
from sciret.encoders.lexical import Floats, Integers, bm25, query_weights, tfidf
from sciret.store import Lexical


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One word of the query that some live paper has."""

    name: str
    in_query: int
    positions: Integers  # [m] papers that have it, ascending
    counts: Floats  # [m] how often they have it


def contributions(snapshot: Snapshot, text: str, sparse: Lexical) -> Sequence[Contribution]:
    """One for each word of the text that any paper has; words that none has say nothing about papers."""
    terms = list(_terms(snapshot, text))
    return [
        Contribution(term.name, term.positions, scores)
        for term, scores in zip(terms, _scores(snapshot.catalogue, terms, sparse), strict=True)
    ]


def _terms(snapshot: Snapshot, text: str) -> Iterator[Term]:
    for name, in_query in count_terms(text).items():
        positions, counts = live_postings(snapshot, WORDS, name)
        if len(positions):
            yield Term(name, in_query, positions, counts)


def _scores(catalogue: Catalogue, terms: Sequence[Term], sparse: Lexical) -> Iterator[Floats]:
    having = np.array([len(term.positions) for term in terms], np.int64)
    in_query = np.array([term.in_query for term in terms], np.int64)
    for term, weight in zip(terms, query_weights(sparse, catalogue.collection, having, in_query), strict=True):
        if sparse == "bm25":
            yield weight * bm25(term.counts, catalogue.relative_lengths[term.positions])
        else:
            yield weight * tfidf(term.counts, catalogue.norms[term.positions])
