"""Why a paper was found: words and concepts it shares with the query, and which sentences met which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sciret.encoded import EncodedPaper, EncodedQuery, Vector
from sciret.encoders.analysis import surface_words
from sciret.hit import SentenceMatch, Why
from sciret.retrieval.transport import SentenceMatches
from sciret.retrieval.wordpieces import written_words

CELLS = 5
"""So many cells of a transport plan say enough; the rest of the mass is thinly spread."""


def explain(
    query: EncodedQuery,
    paper: EncodedPaper,
    terms: Sequence[str],
    contributions: Vector,  # [terms + keyphrases]
    matches: SentenceMatches | None,
    position: int,
    *,
    keyphrases: Sequence[str] = (),
    pieces: bool = False,
) -> Why:
    """Reasons for the candidate at `position`. `pieces`: the terms are wordpieces and not stems."""
    shares = contributions / (float(contributions.sum()) or 1.0)  # those of terms and keyphrases together sum to 1
    written = _pieces_as_written if pieces else _stems_as_written
    return Why(
        terms=_largest_first(written(query, paper, terms), shares[: len(terms)]),
        keyphrases=_largest_first(keyphrases, shares[len(terms) :]),
        sentences=tuple(_sentence_matches(query, paper, matches, position)) if matches is not None else (),
    )


def _largest_first(names: Sequence[str], shares: Vector) -> dict[str, float]:
    """Names that are the same are one, and what has no share is left out."""
    together: dict[str, float] = {}
    for name, share in zip(names, shares.tolist(), strict=True):
        if share > 0:
            together[name] = together.get(name, 0.0) + share
    return dict(sorted(together.items(), key=lambda item: -item[1]))


def _stems_as_written(query: EncodedQuery, paper: EncodedPaper, stems: Sequence[str]) -> list[str]:
    """Each word as the paper writes it."""
    written = {**surface_words(query.text), **surface_words(paper.paper.text)}
    return [written.get(stem, stem) for stem in stems]


def _pieces_as_written(query: EncodedQuery, paper: EncodedPaper, pieces: Sequence[str]) -> list[str]:
    """The word of the paper, or else of the query, that each piece is part of."""
    known = {*query.tokens, *paper.tokens}
    written = written_words(pieces, known, paper.paper.text, query.text)
    return [written[piece] for piece in pieces]


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
