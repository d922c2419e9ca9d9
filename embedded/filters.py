"""Scope to the papers it admits. Names and operators come from fixed tables, values are always bound."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np

from sciret.embedded.catalogue import Mask, Snapshot
from sciret.embedded.postings import FACET, read, read_all
from sciret.embedded.records import member
from sciret.encoders.lexical import Integers
from sciret.errors import QueryError
from sciret.storable import fold, is_unicode
from sciret.store import DERIVED, LISTS, NUMBERS, TEXTS, Condition, Scope

HIDDEN = "access <> 'open' AND NOT (access = 'embargoed' AND embargo_end <> '' AND embargo_end <= ?)"
"""True of a paper that is not searchable on a day. The first half lets SQLite use the index of papers not open."""

_REFUSED = "cannot filter by {}{}{!r}: no such field, comparison or value"
_OPERATORS = {"=": "=", "!=": "<>", ">=": ">=", "<=": "<=", ">": ">", "<": "<"}


def admitted(snapshot: Snapshot, scope: Scope, day: date) -> Mask:
    """Which papers the scope admits on a day, its ids aside."""
    positions = snapshot.catalogue.positions
    mask = np.ones(len(snapshot.catalogue), np.bool_)
    of_record = [condition for condition in scope.where if condition.field not in DERIVED]
    if of_record:
        mask[:] = False
        mask[positions[_nums(snapshot, *matching(of_record))]] = True
    for condition in scope.where:
        if condition.field in DERIVED:
            mask &= _with_keyphrase(snapshot, condition)
    if not scope.restricted:
        mask[positions[_nums(snapshot, HIDDEN, [day.isoformat()])]] = False
    return mask  # [n]


def _with_keyphrase(snapshot: Snapshot, condition: Condition) -> Mask:
    """Keyphrases are features of the index: a column for them would be one that older files do not have."""
    value, op = condition.value, condition.op
    if op not in ("=", "!=") or not isinstance(value, str) or not is_unicode(value):
        raise QueryError(_REFUSED.format(condition.field, op, value))
    found = read(snapshot.connection, FACET, fold(value)) if value else read_all(snapshot.connection, FACET)
    positions = snapshot.catalogue.positions[found["num"]]
    mask = np.zeros(len(snapshot.catalogue), np.bool_)
    mask[positions[positions >= 0]] = True
    return mask if (op == "=") == bool(value) else ~mask  # [n]


def _nums(snapshot: Snapshot, condition: str, values: Sequence[str | int]) -> Integers:
    rows = snapshot.connection.execute(f"SELECT num FROM facets WHERE {condition}", values)  # noqa: S608  # see above
    return np.array([num for (num,) in rows], np.int64)


def matching(where: Sequence[Condition]) -> tuple[str, list[str | int]]:
    """What is true of a paper that meets all conditions, and its parameters.

    A missing value is an empty one: `venue=` finds papers without a venue, and `venue<n` leaves them out.
    """
    terms = [_term(condition) for condition in where]
    return " AND ".join(sql for sql, _ in terms), [value for _, value in terms]


def _term(condition: Condition) -> tuple[str, str | int]:
    name, operator, value = condition.field, _OPERATORS.get(condition.op), condition.value
    if operator and name in NUMBERS and isinstance(value, int):
        return f"{name} {'IS NOT' if operator == '<>' else operator} ?", value
    if operator and name in TEXTS and isinstance(value, str) and is_unicode(value):
        present = "" if operator in ("=", "<>") else f" AND {name} <> ''"
        return f"{name} {operator} ?{present}", fold(value)
    if operator in ("=", "<>") and name in LISTS and isinstance(value, str):
        found = f'instr("{name}", ?) > 0' if value else f'"{name}" = ?'
        return found if operator == "=" else f"NOT ({found})", member(value) if value else ""
    raise QueryError(_REFUSED.format(name, condition.op, value))
