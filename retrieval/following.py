"""Searching a store whose model may change under a running process: the query follows the index, never the reverse."""

from __future__ import annotations

from typing import Protocol

from sciret.errors import StoreError, WrongModelError
from sciret.retrieval.queries import QueryEncoder, Question, ask
from sciret.retrieval.search import Ranking, SearchOptions
from sciret.store import Store

TRIES = 3
"""A swap in the middle of a question costs one; who swaps oftener than that has another problem."""


class Encoders(Protocol):
    """The encoders at hand."""

    def for_model(self, fingerprint: str) -> QueryEncoder:
        """The one with this fingerprint; WrongModelError if there is none."""


def ask_following(question: Question, encoders: Encoders, store: Store, options: SearchOptions) -> Ranking:
    """As `ask`, with the encoder for whichever version is live; asked again when that changed meanwhile."""
    for tries_left in reversed(range(TRIES)):
        model = store.model
        if model is None:
            raise StoreError("the store is empty: `sciret ingest` fills it")
        encoder = encoders.for_model(model)
        try:
            return ask(question, encoder, store, options)
        except WrongModelError:
            if not tries_left:
                raise
    raise AssertionError("not reached")
