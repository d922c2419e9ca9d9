"""Searching a store whose model may change under a running process: the query follows the index, never the reverse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sciret.encoded import EncodedQuery
from sciret.errors import StoreError, WrongModelError
from sciret.retrieval.queries import QueryEncoder, Question, ask
from sciret.retrieval.search import Ranking, SearchOptions
from sciret.store import Store

T = TypeVar("T")

TRIES = 3
"""A swap in the middle of a question costs one; who swaps oftener than that has another problem."""


class Encoders(Protocol):
    """The encoders at hand."""

    def for_model(self, fingerprint: str) -> QueryEncoder:
        """The one with this fingerprint; WrongModelError if there is none."""

    def beta(self, fingerprint: str) -> float:
        """Of its bundle, without loading the model."""


@dataclass(frozen=True, slots=True)
class StoreEncoder:
    """The encoder for whichever version of a store is live. It is looked for when a text needs it, not before."""

    encoders: Encoders
    store: Store

    def encode_query(self, text: str) -> EncodedQuery:
        return self.encoders.for_model(self._model).encode_query(text)

    @property
    def beta(self) -> float:
        return self.encoders.beta(self._model)

    @property
    def _model(self) -> str:
        model = self.store.model
        if model is None:
            raise StoreError("the store is empty: `sciret ingest` fills it")
        return model


def ask_following(question: Question, encoders: Encoders, store: Store, options: SearchOptions) -> Ranking:
    """As `ask`, by the model of the version that answers."""
    return following(lambda: ask(question, StoreEncoder(encoders, store), store, options))


def following(search: Callable[[], T]) -> T:
    """Search again when another version went live between the encoding of a question and the answer."""
    for _ in range(TRIES - 1):
        try:
            return search()
        except WrongModelError:
            continue
    return search()
