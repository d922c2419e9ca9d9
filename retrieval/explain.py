"""Why a paper was found: words and concepts it shares with the query, and which sentences met which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from sciret.encoded import EncodedPaper, EncodedQuery, Vector
from sciret.encoders.analysis import stem, surface_words
from sciret.hit import SentenceMatch, Why
from sciret.retrieval.transport import SentenceMatches
from sciret.retrieval.wordpieces import written_words

CELLS = 5
"""So many cells of a transport plan say enough; the rest of the mass is thinly spread."""


def explain(
    query: EncodedQuery,
    paper: EncodedPaper,
    terms: Sequence[str],
    contributions: Vector,  # [terms + tokens + keyphrases]
    matches: SentenceMatches | None,
    position: int,
    *,
    tokens: Sequence[str] = (),
    keyphrases: Sequence[str] = (),
) -> Why:
    """Reasons for the candidate at `position`. Terms are stems, tokens are wordpieces: both are shown as words."""
    shares = contributions / (float(contributions.sum()) or 1.0)  # those of words and keyphrases together sum to 1
    words = _as_written(query, paper, terms, tokens)
    return Why(
        terms=_largest_first(words, shares[: len(words)], one_word),
        keyphrases=_largest_first(keyphrases, shares[len(words) :]),
        sentences=tuple(_sentence_matches(query, paper, matches, position)) if matches is not None else (),
    )


def one_word(word: str) -> str:
    """What the forms of a word have in common: `Cells` and `cell` are one reason, whichever channel gave it."""
    return stem(word) or word.casefold()


def _largest_first(names: Sequence[str], shares: Vector, alike: Callable[[str], str] = str) -> dict[str, float]:
    """Names that are alike are one, called by the heaviest of them, and what has no share is left out."""
    called: dict[str, str] = {}
    together: dict[str, float] = {}
    for name, share in sorted(zip(names, shares.tolist(), strict=True), key=lambda item: -item[1]):
        if share > 0:
            shown = called.setdefault(alike(name), name)
            together[shown] = together.get(shown, 0.0) + share
    return dict(sorted(together.items(), key=lambda item: -item[1]))


def _as_written(query: EncodedQuery, paper: EncodedPaper, terms: Sequence[str], tokens: Sequence[str]) -> list[str]:
    """Each stem, and the word that each piece is part of, as the paper first writes it, or else the query."""
    written = {**surface_words(query.text), **surface_words(paper.paper.text)}
    known = {*query.tokens, *paper.tokens}
    words = written_words(tokens, known, paper.paper.text, query.text) if tokens else {}
    return [
        *(written.get(term, term) for term in terms),
        *(written.get(one_word(words[token]), words[token]) for token in tokens),
    ]


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
