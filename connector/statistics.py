"""What the words of a query are worth: counts over all live papers, asked for beside another request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sciret.connector import queries
from sciret.encoders.lexical import Collection, Floats, Integers, query_weights
from sciret.store import Lexical


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of a query that any paper has."""

    terms: tuple[str, ...]
    in_query: Integers  # [t]
    having: Integers  # [t] papers that have the word
    collection: Collection

    def weights(self, sparse: Lexical) -> Floats:
        if not self.terms:
            return np.empty(0)
        return query_weights(sparse, self.collection, self.having, self.in_query)  # [t]


def bodies(terms: Mapping[str, int]) -> list[queries.Body]:
    """Searches whose answers `read` puts together."""
    return [queries.collection(), *(queries.having(term) for term in terms)] if terms else []


def read(terms: Mapping[str, int], answers: Sequence[Mapping[str, Any]]) -> Words:
    """Words that no paper has say nothing about papers: they are left out."""
    counts = [int(answer["hits"]["total"]["value"]) for answer in answers]
    known = [(term, times, n) for (term, times), n in zip(terms.items(), counts[1:], strict=True) if n]
    return Words(
        terms=tuple(term for term, _, _ in known),
        in_query=np.array([times for _, times, _ in known], np.int64),
        having=np.array([n for _, _, n in known], np.int64),
        collection=Collection(counts[0], int(answers[0]["aggregations"]["words"]["value"]))
        if terms
        else Collection(0, 0),
    )
