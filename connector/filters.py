"""Scope to clauses that a paper must meet. Names and operators come from fixed tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from sciret.connector.documents import document_id
from sciret.errors import QueryError
from sciret.storable import fold, is_unicode
from sciret.store import DERIVED, LISTS, NUMBERS, TEXTS, Condition, Scope

Clause = dict[str, Any]
KEYPHRASE = "keyphrase_terms"
"""The keyphrases of most weight, case-folded; no facet, since dashboards had it under this name before."""
_RANGES = {">=": "gte", "<=": "lte", ">": "gt", "<": "lt"}
_OPERATORS = ("=", "!=", *_RANGES)


def admitted(scope: Scope, day: date, *, but: str | None = None) -> Clause:
    """What is true of the papers that a scope admits on a day, its ids aside; `but` is left out of them."""
    clauses = [_clause(condition) for condition in scope.where]
    if not scope.restricted:
        clauses.append(searchable(day))
    if but is not None:
        clauses.append(_none_of(by_ids([but])))
    return {"bool": {"filter": clauses}} if clauses else {"match_all": {}}


def searchable(day: date) -> Clause:
    """Open, or under an embargo that has ended by a day."""
    embargo = {"range": {"facets.embargo_end": {"gt": "", "lte": day.isoformat()}}}
    ended = {"bool": {"filter": [{"term": {"facets.access": "embargoed"}}, embargo]}}
    return {"bool": {"should": [{"term": {"facets.access": "open"}}, ended], "minimum_should_match": 1}}


def by_ids(ids: Sequence[str]) -> Clause:
    """These papers."""
    return {"ids": {"values": [document_id(paper_id) for paper_id in ids]}}


def _clause(condition: Condition) -> Clause:
    """A missing value is an empty one: `venue=` finds papers without a venue, and `venue<n` leaves them out."""
    name, op, value = condition.field, condition.op, condition.value
    if op in _OPERATORS and name in NUMBERS and isinstance(value, int):
        return _compare(name, op, value)
    if op in _OPERATORS and name in TEXTS and isinstance(value, str) and is_unicode(value):
        return _compare(f"facets.{name}", op, fold(value))
    if op in ("=", "!=") and name in (*LISTS, *DERIVED) and isinstance(value, str) and is_unicode(value):
        field = KEYPHRASE if name in DERIVED else f"facets.{name}"
        found = {"term": {field: fold(value)}} if value else _none_of({"exists": {"field": field}})
        return found if op == "=" else _none_of(found)
    raise QueryError(f"cannot filter by {name}{op}{value!r}: no such field, comparison or value")


def _compare(field: str, op: str, value: str | int) -> Clause:
    if op in _RANGES:
        present = {"gt": ""} if op in ("<", "<=") and isinstance(value, str) else {}
        return {"range": {field: {"gt": ""} if (op, value) == (">=", "") else {_RANGES[op]: value, **present}}}
    found = {"term": {field: value}}
    return found if op == "=" else _none_of(found)


def _none_of(clause: Clause) -> Clause:
    return {"bool": {"must_not": [clause]}}
