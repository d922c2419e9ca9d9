"""BM25 and TF-IDF over the postings of the query's words. Both give shares in 0..1, whatever the candidates.

BM25 is Lucene's, divided by the highest score that the query could reach. TF-IDF is SMART's lnc.ltc: a paper's
vector needs no collection statistics, so it is never out of date, and only the query's carries the rarity of words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sciret.embedded.catalogue import Catalogue, Floats, Integers, Snapshot
from sciret.embedded.postings import WORDS, read
from sciret.encoders.analysis import count_terms
from sciret.store import Sparse

K1 = 1.2
B = 0.75


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
    score = {"bm25": _bm25, "tfidf": _tfidf}[sparse]
    return [
        Contribution(term.name, term.positions, scores)
        for term, scores in zip(terms, score(snapshot.catalogue, terms), strict=True)
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


def _bm25(catalogue: Catalogue, terms: Sequence[Term]) -> Iterator[Floats]:
    having = np.array([len(term.positions) for term in terms])
    idf = np.log1p((catalogue.with_words - having + 0.5) / (having + 0.5))
    weights = idf * [term.in_query for term in terms]
    for term, share in zip(terms, weights / weights.sum(), strict=True):
        lengths = catalogue.relative_lengths[term.positions]
        yield share * term.counts / (term.counts + K1 * (1 - B + B * lengths))


def _tfidf(catalogue: Catalogue, terms: Sequence[Term]) -> Iterator[Floats]:
    having = np.array([len(term.positions) for term in terms])
    weights = np.log(catalogue.with_words / having) * (1 + np.log([term.in_query for term in terms]))
    length = float(np.linalg.norm(weights)) or 1.0  # 0 where every paper has every word of the query
    for term, weight in zip(terms, weights / length, strict=True):
        yield weight * (1 + np.log(term.counts)) / catalogue.norms[term.positions]


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
