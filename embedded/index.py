"""Candidates of each channel, from what is held in memory of all papers and what is read of the file for one query."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from sciret.embedded import filters, learned, lexical
from sciret.embedded.catalogue import Catalogue, Mask, Snapshot
from sciret.embedded.contributions import Contribution, matrix, total
from sciret.embedded.vectors import Vectors
from sciret.encoded import EncodedQuery, Vector
from sciret.encoders.learned import Projection
from sciret.encoders.lexical import Floats, Integers
from sciret.encoders.sparse_side import Summands
from sciret.errors import QueryError
from sciret.store import Channel, Scope, SparseChannel

MASKS = 16
"""Scopes whose papers are remembered: a batch of queries mostly has one."""


@dataclass(frozen=True, slots=True)
class Contributions:
    """Of the features of the query that one sparse channel knows."""

    terms: Sequence[Contribution] = ()
    tokens: Sequence[Contribution] = ()
    keyphrases: Sequence[Contribution] = ()

    @property
    def all(self) -> Sequence[Contribution]:
        return (*self.terms, *self.tokens, *self.keyphrases)

    def of(self, positions: Integers) -> Summands:
        """To the scores of these papers only."""
        names = (tuple(each.term for each in group) for group in (self.terms, self.tokens, self.keyphrases))
        return Summands(matrix(self.all, positions), *names)


class Index:
    """For one thread at a time."""

    def __init__(self, today: Callable[[], date]) -> None:
        self._today = today
        self._catalogue = Catalogue.empty()
        self._dense = Vectors("dense")
        self._sentences = Vectors("sentences")
        self._contributions: dict[SparseChannel, tuple[object, Contributions]] = {}
        self._masks: dict[tuple[object, ...], Mask] = {}

    def snapshot(self, connection: sqlite3.Connection) -> Snapshot:
        """The live papers as the connection's transaction shows them."""
        current = self._catalogue.refreshed(connection)
        if current is not self._catalogue:
            self._masks.clear()
            self._catalogue = current
        return Snapshot(connection, current)

    def candidates(
        self, snapshot: Snapshot, query: EncodedQuery, channels: Sequence[Channel], k: int, scope: Scope
    ) -> Sequence[str]:
        """Channel by channel, best first; equal scores by id."""
        admitted = self._admitted(snapshot, scope)
        positions = snapshot.catalogue.positions
        if scope.ids is not None:
            return tuple(i for i, num in snapshot.nums(scope.ids).items() if admitted[positions[num]])
        if query.like is not None:
            admitted = admitted.copy()
            admitted[positions[list(snapshot.nums([query.like]).values())]] = False
        found: dict[str, None] = {}
        for channel in channels:
            nums, scores = self._best(snapshot, query, channel, k, admitted)
            ranked = sorted(zip((-scores).tolist(), snapshot.ids(nums), strict=True))
            found.update((paper_id, None) for _, paper_id in ranked[:k])
        return tuple(found)

    def _best(
        self, snapshot: Snapshot, query: EncodedQuery, channel: Channel, k: int, admitted: Mask
    ) -> tuple[Integers, Floats]:
        """The k best papers of one channel, those tied with the last, and maybe more: nums and scores."""
        if channel == "dense":
            return self._dense.nearest(snapshot, _given(query.dense, channel), k, admitted)
        if channel == "sentence":
            return self._sentences.nearest(snapshot, _given(query.sentence_vectors, channel), k, admitted)
        scores = total(self.contributions(snapshot, query, channel).all, len(snapshot.catalogue)) * admitted
        return _highest(snapshot.catalogue, scores, k)

    def contributions(self, snapshot: Snapshot, query: EncodedQuery, channel: SparseChannel) -> Contributions:
        """The last of each channel are remembered: completing candidates asks for the same as finding them did."""
        if channel == "casper":
            about: object = (tuple(query.tokens.items()), tuple(query.keyphrases.items()), query.beta)
        else:
            about = query.text
        key = (snapshot.catalogue.generation, about)
        if key != self._contributions.get(channel, (None,))[0]:
            self._contributions[channel] = key, _contributions(snapshot, query, channel)
        return self._contributions[channel][1]

    def _admitted(self, snapshot: Snapshot, scope: Scope) -> Mask:
        """The day is part of what is remembered: an embargo ends by itself."""
        day = self._today()
        key = (scope.where, scope.restricted, day)
        if key not in self._masks:
            if len(self._masks) >= MASKS:
                self._masks.clear()
            self._masks[key] = filters.admitted(snapshot, scope, day)
        return self._masks[key]  # [n]


def _contributions(snapshot: Snapshot, query: EncodedQuery, channel: SparseChannel) -> Contributions:
    if channel != "casper":
        return Contributions(terms=lexical.contributions(snapshot, query.text, channel))
    projection = Projection.of(query.tokens, query.keyphrases, query.beta)
    found = learned.contributions(snapshot, projection)
    count = len(projection.tokens)
    return Contributions(tokens=found[:count], keyphrases=found[count:])


def _given(vectors: Vector | None, channel: Channel) -> Vector:
    if vectors is None or not vectors.size:
        raise QueryError(f"the channel {channel} needs a vector of the query, and its model gives none: leave it out")
    return np.atleast_2d(vectors)  # [q, d]


def _highest(catalogue: Catalogue, scores: Floats, k: int) -> tuple[Integers, Floats]:
    found = np.flatnonzero(scores)  # a paper without any feature of the query is no candidate
    if len(found) > k:
        found = found[scores[found] >= np.partition(scores[found], -k)[-k]]
    return catalogue.nums[found], scores[found]
