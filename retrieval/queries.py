"""Many queries from a file: a line is {"id", "text"} or {"id", "like", "sentences", "candidates"}."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.encoders.query import ASPECTS, paper_as_query
from sciret.encoders.sparse_side import shares
from sciret.errors import QueryError
from sciret.retrieval.search import Ranking, SearchOptions, ranking
from sciret.store import Store


class QueryEncoder(Protocol):
    def encode_query(self, text: str) -> EncodedQuery: ...

    @property
    def beta(self) -> float:
        """What a keyphrase counts beside a token, as the model was made."""


@dataclass(frozen=True, slots=True)
class Question:
    """One line of a query file, or what a person typed."""

    id: str
    text: str | None = None
    like: str | None = None
    sentences: tuple[int, ...] = ()
    aspect: str | None = None
    candidates: tuple[str, ...] | None = None


def read_questions(lines: Iterable[str], name: str) -> Iterator[Question]:
    """Every line is checked before it is used; the error names file, line and field."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _question(line, f"{name}:{number}")


def _question(line: str, where: str) -> Question:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise QueryError(f"{where}: not a JSON object ({error})") from error
    if not isinstance(record, dict):
        raise QueryError(f"{where}: not a JSON object")
    identity = record.get("id")
    if not isinstance(identity, str | int) or isinstance(identity, bool) or not str(identity).strip():
        raise QueryError(f"{where}: id is missing or empty")
    text, like = record.get("text"), record.get("like")
    if isinstance(text, str) == isinstance(like, str):
        raise QueryError(f"{where}: give either text or like (the id of a paper), as a string")
    aspect = record.get("aspect")
    if aspect is not None and aspect not in ASPECTS:
        raise QueryError(f"{where}: aspect is one of {', '.join(ASPECTS)}, not {aspect!r}")
    return Question(
        id=str(identity),
        text=text,
        like=like,
        sentences=_list(record, "sentences", int, where) or (),
        aspect=aspect,
        candidates=_list(record, "candidates", str, where),
    )


def _list(record: dict[str, Any], name: str, kind: type, where: str) -> tuple[Any, ...] | None:
    value = record.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(v, kind) and not isinstance(v, bool) for v in value):
        raise QueryError(f"{where}: {name} must be a list of {'numbers' if kind is int else 'ids'}")
    return tuple(value)


def open_paper(store: Store, paper_id: str, *, restricted: bool) -> EncodedPaper:
    """The stored paper, or an error that says why there is none to show.

    What is derived from a text is kept from those who did not ask for papers that are not open.
    """
    stored = store.get([paper_id]).get(paper_id)
    if stored is None:
        raise QueryError(f"no paper {paper_id!r} in the store; `sciret search` shows the ids of what it has")
    if not restricted and not stored.paper.is_searchable():
        until = f" until {stored.paper.embargo_end}" if stored.paper.embargo_end else ""
        raise QueryError(f"paper {paper_id!r} is not open ({stored.paper.access}{until}): give --access all to use it")
    return stored


def encode_question(question: Question, encoder: QueryEncoder, store: Store, options: SearchOptions) -> EncodedQuery:
    """A text is encoded; a paper's own stored vectors are its query, so it must be in the store and open."""
    if question.text is not None:
        return encoder.encode_query(question.text)
    stored = open_paper(store, question.like or "", restricted=options.scope.restricted)
    query = paper_as_query(stored, question.sentences, ASPECTS[question.aspect] if question.aspect else ())
    if "casper" in shares(options.sparse) and options.beta is None:
        query = replace(query, beta=encoder.beta)
    return query


def ask(question: Question, encoder: QueryEncoder, store: Store, options: SearchOptions) -> Ranking:
    """Rank papers for one question. With candidates, only those are ranked, and all of them that the store may show."""
    query = encode_question(question, encoder, store, options)
    if question.candidates is not None:
        options = replace(options, scope=replace(options.scope, ids=question.candidates))
    return ranking(store, query, options)
