"""Requests about papers that are part of somebody else's documents: every field of ours is within one object there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sciret.mappings.in_place import OBJECT

ID = f"{OBJECT}.id"
"""Every document with a paper of ours in it has this field."""
_BY_FIELD = ("term", "terms", "range", "neural_sparse")
"""Clauses of the form `{"term": {FIELD: ...}}`."""
_IN_SCRIPT = re.compile(r"(doc\[|termFreq\()'(\w+)'")


def placed(body: Mapping[str, Any]) -> dict[str, Any]:
    """A body of `queries`, for fields within our object."""
    return {name: _placed_part(name, value) for name, value in body.items()}


def _placed_part(name: str, value: Any) -> Any:
    match name, value:
        case "query" | "aggs", _:
            return _clause(value)
        case "sort", list():
            return [each if isinstance(each, str) else _sorting(each) for each in value]
        case "docvalue_fields", list():
            return _fields(value)
        case "_source", {"includes": list(fields)}:
            return {"includes": _fields(fields)}
        case _:
            return value


def _clause(node: Any) -> Any:
    if isinstance(node, list):
        return [_clause(each) for each in node]
    if not isinstance(node, Mapping):
        return node
    if "match_all" in node:
        return {"exists": {"field": ID}}
    return {name: _clause_part(name, value) for name, value in node.items()}


def _clause_part(name: str, value: Any) -> Any:
    match name, value:
        case (("field" | "path"), str()):
            return _field(value)
        case "fields", list():
            return _fields(value)
        case "knn", _:
            return {_field(field): _knn(wanted) for field, wanted in value.items()}
        case "script", _:
            return _script(value)
        case _ if name in _BY_FIELD and "field" not in value:
            return {_field(field): wanted for field, wanted in value.items()}
        case _:
            return _clause(value)


def _knn(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The vector is no clause; a filter is one."""
    return {name: _clause(value) if name == "filter" else value for name, value in wanted.items()}


def _script(script: Mapping[str, Any]) -> dict[str, Any]:
    params = {name: _field(value) if name == "field" else value for name, value in script["params"].items()}
    return {**script, "source": _IN_SCRIPT.sub(rf"\1'{OBJECT}.\2'", script["source"]), "params": params}


def _sorting(by: Mapping[str, Any]) -> dict[str, Any]:
    return {field if field.startswith("_") else _field(field): order for field, order in by.items()}


def _field(name: str) -> str:
    return f"{OBJECT}.{name}"


def _fields(names: Sequence[str]) -> list[str]:
    return [_field(name) for name in names]


def taken_out(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a placed body, as if our papers were documents; what has none of them in it is left out."""
    hits = [hit for hit in map(_hit, answer["hits"]["hits"]) if hit]
    return {**answer, "hits": {**answer["hits"], "hits": hits}}


def _hit(hit: Mapping[str, Any]) -> dict[str, Any] | None:
    if "fields" in hit:
        return {**hit, "fields": {name.removeprefix(f"{OBJECT}."): value for name, value in hit["fields"].items()}}
    source = hit.get("_source", {}).get(OBJECT)
    return {**hit, "_source": source} if source else None
