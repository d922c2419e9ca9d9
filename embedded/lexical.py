"""BM25 and TF-IDF over the postings of the query's words; the formulas are `encoders.lexical`'s."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sciret.embedded.catalogue import Catalogue, Snapshot
from sciret.embedded.postings import WORDS, read
from sciret.encoders.analysis import count_terms
from sciret.encoders.lexical import Floats, Integers, bm25, query_weights, tfidf
from sciret.store import Sparse


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One word of the query that some live paper has."""

    name: str
    in_query: int
    positions: Integers  # [m] papers that have it, ascending
    counts: Floats  # [m] how often they have it


@dataclass(frozen=True, slots=True, eq=False)
class Contribution:
    """What one word adds to the scores of the papers that have it."""

    term: str
    positions: Integers  # [m] ascending
    scores: Floats  # [m]


def contributions(snapshot: Snapshot, text: str, sparse: Sparse) -> Sequence[Contribution]:
    """One for each word of the text that any paper has; words that none has say nothing about papers."""
    terms = list(_terms(snapshot, text))
    return [
        Contribution(term.name, term.positions, scores)
        for term, scores in zip(terms, _scores(snapshot.catalogue, terms, sparse), strict=True)
    ]


def _terms(snapshot: Snapshot, text: str) -> Iterator[Term]:
    for name, in_query in count_terms(text).items():
        postings = read(snapshot.connection, WORDS, name)
        positions = snapshot.catalogue.positions[postings["num"]]
        counts = postings["weight"].astype(np.float64)
        alive = positions >= 0
        if not alive.all():
            positions, counts = positions[alive], counts[alive]
        if len(positions):
            yield Term(name, in_query, positions, counts)


def _scores(catalogue: Catalogue, terms: Sequence[Term], sparse: Sparse) -> Iterator[Floats]:
    having = np.array([len(term.positions) for term in terms], np.int64)
    in_query = np.array([term.in_query for term in terms], np.int64)
    for term, weight in zip(terms, query_weights(sparse, catalogue.collection, having, in_query), strict=True):
        if sparse == "bm25":
            yield weight * bm25(term.counts, catalogue.relative_lengths[term.positions])
        else:
            yield weight * tfidf(term.counts, catalogue.norms[term.positions])


def total(contributions: Sequence[Contribution], papers: int) -> Floats:
    """The scores of all papers."""
    scores = np.zeros(papers)
    for each in contributions:
        np.add.at(scores, each.positions, each.scores)
    return scores  # [n]


def matrix(contributions: Sequence[Contribution], positions: Integers) -> Floats:
    """The contributions to the scores of these papers only."""
    cells = np.zeros((len(positions), len(contributions)))
    for column, each in enumerate(contributions):
        places = np.searchsorted(each.positions, positions)
        places[places == len(each.positions)] = 0
        found = each.positions[places] == positions
        cells[found, column] = each.scores[places[found]]
    return cells  # [len(positions), terms]
