"""Which request finds the candidates of each channel."""

from __future__ import annotations

import numpy as np

from sciret.connector import learned, queries
from sciret.connector.filters import Clause
from sciret.connector.statistics import Words
from sciret.encoded import EncodedQuery, Vector
from sciret.encoders.analysis import count_terms
from sciret.errors import QueryError
from sciret.store import LEXICAL, SPARSE_CHANNELS, Channel


def channel_body(
    channel: Channel, query: EncodedQuery, k: int, admitted: Clause, *, neural: bool
) -> queries.Body | None:
    """By the server's own index structures. None where the query has nothing to look for.

    `neural`: the server has the neural-search plugin.
    """
    if channel == "casper":
        return learned.body(query, k, admitted, neural=neural)
    if channel == "dense":
        return queries.nearest(vectors_of(query, channel)[0], k, admitted)
    if channel == "sentence":
        return queries.nearest_sentences(vectors_of(query, channel), k, admitted)
    terms = count_terms(query.text)
    return queries.lexical(channel, terms, k, admitted) if terms else None


def exact_body(channel: Channel, query: EncodedQuery, k: int, admitted: Clause, words: Words) -> queries.Body | None:
    """By scores of every paper, equal ones by id. Not for CASPER: its weights can be read only with the papers."""
    if channel == "casper":
        raise ValueError("exact candidates by CASPER take more than one request")
    if channel == "dense":
        return queries.exact_nearest(vectors_of(query, channel)[0], k, admitted)
    if channel == "sentence":
        return queries.exact_nearest_sentences(vectors_of(query, channel), k, admitted)
    weights = dict(zip(words.terms, words.weights(channel).tolist(), strict=True))
    return queries.exact_lexical(channel, weights, words.collection.average, k, admitted) if weights else None


def vectors_of(query: EncodedQuery, channel: Channel) -> Vector:
    vectors = query.dense if channel == "dense" else query.sentence_vectors
    if vectors is None or not vectors.size:
        raise QueryError(f"the channel {channel} needs a vector of the query, and its model gives none: leave it out")
    return np.atleast_2d(vectors)  # [q, d]


def is_lexical(channel: Channel) -> bool:
    return channel in LEXICAL


def needs_vectors(channel: Channel) -> bool:
    return channel not in SPARSE_CHANNELS
