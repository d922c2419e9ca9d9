"""One question: asked, and printed for a person or as one JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from sciret.cli.encoders import encoders_of
from sciret.cli.events import log_answer
from sciret.cli.hit_record import hit_record
from sciret.cli.output import print_json
from sciret.cli.stores import open_store
from sciret.encoders.sparse_side import shares
from sciret.hit import Hit
from sciret.retrieval.following import StoreEncoder, following
from sciret.retrieval.queries import Question, encode_question
from sciret.retrieval.search import SearchOptions, best_sparse, rerank_weight, search, weighed
from sciret.settings import Settings
from sciret.store import Store


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits, and everything that is needed to recompute their scores by hand."""

    question: Question
    settings: Settings
    options: SearchOptions
    model: str
    """Fingerprint of the model that made the query's vectors."""
    rerank_weight: float
    """As used: a question about some sentences of a paper has a weight of its own."""
    hits: list[Hit]
    encode_seconds: float = 0.0
    """Of the question, with the loading of the model."""
    search_seconds: float = 0.0
    beta: float | None = None
    """As used; None where the sparse side has no keyphrases."""


def answer(question: Question, settings: Settings, options: SearchOptions) -> Answer:
    with open_store(settings, create=False) as store:
        encoder = StoreEncoder(encoders_of(settings), store)
        found = following(lambda: _answer(question, encoder, settings, options))
        log_answer(store, found)
    return found


def settled(options: SearchOptions, settings: Settings, store: Store) -> SearchOptions:
    """`--sparse auto` is known when the store is: learned features too where its papers have them."""
    return replace(options, sparse=best_sparse(store.channels)) if settings.sparse == "auto" else options


def _answer(question: Question, encoder: StoreEncoder, settings: Settings, options: SearchOptions) -> Answer:
    store, begun = encoder.store, perf_counter()
    options = settled(options, settings, store)
    query = encode_question(question, encoder, store, options)
    encoded = perf_counter()
    hits = search(store, query, options)
    seconds = encoded - begun, perf_counter() - encoded
    beta = weighed(query, options).beta if "casper" in shares(options.sparse) else None
    return Answer(question, settings, options, query.model, rerank_weight(query, options), hits, *seconds, beta)


def print_answer(answer: Answer, *, explain: bool, as_json: bool) -> None:
    if as_json:
        print_json(answer_record(answer, explain=explain))
        return
    from sciret.cli.hit_table import print_hits

    print_hits(answer, explain=explain)


def answer_record(answer: Answer, *, explain: bool) -> Mapping[str, Any]:
    """The document of `--json`: the same keys whatever the question and the options."""
    question = answer.question
    return {
        "query": {
            "text": question.text,
            "like": question.like,
            "sentences": list(question.sentences),
            "aspect": question.aspect,
        },
        "store": answer.settings.store,
        "settings": settings_record(answer),
        "hits": [hit_record(hit, explain=explain) for hit in answer.hits],
    }


def settings_record(answer: Answer) -> Mapping[str, Any]:
    options = answer.options
    return {
        "model": answer.model,
        "k": options.k,
        "from": options.from_,
        "candidates": options.candidates,
        "lambda": options.lambda_ if options.sparse else 1.0,
        "sparse": options.sparse or "none",
        "beta": answer.beta,
        "rerank": options.rerank,
        "rerank_weight": answer.rerank_weight,
        "where": [f"{c.field}{c.op}{c.value}" for c in options.scope.where],
        "access": "all" if options.scope.restricted else "open",
    }
