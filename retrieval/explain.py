"""Why a paper was found: the words it shares with the query, and which of its sentences met which of the query's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sciret.encoded import EncodedPaper, EncodedQuery, Vector
from sciret.encoders.analysis import surface_words
from sciret.hit import SentenceMatch, Why
from sciret.retrieval.transport import SentenceMatches

CELLS = 5
"""So many cells of a transport plan say enough; the rest of the mass is thinly spread."""


def explain(
    query: EncodedQuery,
    paper: EncodedPaper,
    terms: Sequence[str],
    contributions: Vector,  # [terms]
    matches: SentenceMatches | None,
    position: int,
) -> Why:
    """Reasons for the candidate at `position`."""
    return Why(
        terms=matched_words(query, paper, terms, contributions),
        sentences=tuple(_sentence_matches(query, paper, matches, position)) if matches is not None else (),
    )


def matched_words(
    query: EncodedQuery, paper: EncodedPaper, terms: Sequence[str], contributions: Vector
) -> dict[str, float]:
    """Each word as the paper writes it, with its share of the sparse score, largest first."""
    total = float(contributions.sum())
    written = {**surface_words(query.text), **surface_words(paper.paper.text)}
    order = [i for i in np.argsort(-contributions, kind="stable") if contributions[i] > 0]
    return {written.get(terms[i], terms[i]): float(contributions[i]) / total for i in order}


def _sentence_matches(
    query: EncodedQuery, paper: EncodedPaper, matches: SentenceMatches, position: int
) -> Iterable[SentenceMatch]:
    plan = matches.plan(position)
    # Equal masses, as a query of one sentence has them, are told apart by distance.
    heaviest = np.lexsort((plan.distance.ravel(), -plan.mass.ravel().round(6)))[:CELLS]
    for row, column in zip(*np.unravel_index(heaviest, plan.mass.shape), strict=True):
        if plan.mass[row, column] > 0:
            yield SentenceMatch(
                query_sentence=query.chosen[row] if query.aspect else int(row) + 1,
                paper_sentence=int(column) + 1,
                query_text=query.sentences[row],
                paper_text=paper.sentences[column],
                mass=float(plan.mass[row, column]),
                distance=float(plan.distance[row, column]),
            )
