"""CASPER on documents of the index; the formulas are `encoders.learned`'s. Features have the names they have there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sciret.connector import queries
from sciret.connector.features import escape
from sciret.connector.filters import Clause
from sciret.encoded import EncodedQuery
from sciret.encoders.learned import Projection
from sciret.encoders.lexical import Floats

Search = Callable[[Sequence[queries.Body]], list[dict[str, Any]]]
"""Answers to several bodies, in one round trip."""

FIELDS = ("id", "tokens", "keyphrases")
RECORDS = 1000
"""Papers whose features are fetched by one body."""
COARSENESS = 2**-7
"""By what part a score of the server may be too low, and a little more: of a weight it keeps nine bits (< 2^-8)."""


def project(query: EncodedQuery) -> Projection:
    """The query, with names as they are in documents."""
    tokens = {escape(name): weight for name, weight in query.tokens.items()}
    return Projection.of(tokens, {escape(name): weight for name, weight in query.keyphrases.items()}, query.beta)


def contributions(sources: Sequence[Mapping[str, Any]], query: Projection) -> Floats:
    """What each feature adds to each paper's score, from the weights as they were given: `_source` has them all."""
    return query.contributions([(source.get("tokens", {}), source.get("keyphrases", {})) for source in sources])


def body(query: EncodedQuery, k: int, admitted: Clause, *, neural: bool) -> queries.Body | None:
    """Papers by the server's own sums. None where the query has no features."""
    projection = Projection.of(query.tokens, query.keyphrases, query.beta)
    if not len(projection.factors):
        return None
    build = queries.neural_sparse if neural else queries.rank_features
    return build(query.tokens, query.keyphrases, query.beta, k, admitted)


def exact_best(query: EncodedQuery, k: int, admitted: Clause, search: Search) -> Sequence[str]:
    """The k best by exact scores. The server knows weights only roughly: whoever could be one of them is looked at."""
    first = body(query, k, admitted, neural=False)
    if first is None:
        return ()
    (answer,) = search([first])
    if len(answer["hits"]["hits"]) == k:
        (answer,) = search([maybe_better(first, answer)])
    ids = queries.found_ids(answer)
    records = [queries.records(ids[at : at + RECORDS], FIELDS) for at in range(0, len(ids), RECORDS)]
    return best([hit["_source"] for found in search(records) for hit in found["hits"]["hits"]], query, k)


def maybe_better(body: queries.Body, answer: Mapping[str, Any]) -> queries.Body:
    """After the k best by the server's sums, every paper that could be one of the k best by exact ones."""
    last = answer["hits"]["hits"][-1]["_score"]
    return {**body, "size": queries.DEEPEST, "min_score": last * (1 - COARSENESS)}


def best(sources: Sequence[Mapping[str, Any]], query: EncodedQuery, k: int) -> list[str]:
    """Of these papers the k with the highest exact scores, equal ones by id."""
    cells = contributions(sources, project(query))
    # Feature by feature, as the embedded store adds up: any other order could tell equals apart by a rounding error.
    scores = np.cumsum(cells, axis=1)[:, -1]
    ranked = sorted((-score, source["id"]) for score, source in zip(scores.tolist(), sources, strict=True))
    return [paper_id for _, paper_id in ranked[:k]]
