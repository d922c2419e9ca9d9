"""Many queries from a file: a line is {"id", "text"} or {"id", "like", "sentences", "candidates"}."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from sciret.encoded import EncodedQuery
from sciret.encoders.query import ASPECTS, paper_as_query
from sciret.errors import QueryError
from sciret.hit import Hit
from sciret.retrieval.search import SearchOptions, search
from sciret.store import Store


class QueryEncoder(Protocol):
    def encode_query(self, text: str) -> EncodedQuery: ...


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


def encode_question(question: Question, encoder: QueryEncoder, store: Store) -> EncodedQuery:
    """A text is encoded; a paper's own stored vectors are its query, so it must be in the store."""
    if question.text is not None:
        return encoder.encode_query(question.text)
    stored = store.get([question.like or ""]).get(question.like or "")
    if stored is None:
        raise QueryError(f"no paper {question.like!r} in the store to search by")
    return paper_as_query(stored, question.sentences, ASPECTS[question.aspect] if question.aspect else ())


def ask(question: Question, encoder: QueryEncoder, store: Store, options: SearchOptions) -> list[Hit]:
    """Answer one question. With candidates, only those are ranked, and all of them that the store may show."""
    query = encode_question(question, encoder, store)
    if question.candidates is not None:
        options = replace(options, scope=replace(options.scope, ids=question.candidates))
    return search(store, query, options)
