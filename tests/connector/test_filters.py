"""Filters as clauses; what they mean is tested on servers, with every other store (tests/stores/test_scope.py)."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sciret.connector.documents import document_id
from sciret.connector.filters import admitted, by_ids, searchable
from sciret.errors import QueryError
from sciret.store import Condition, Scope

DAY = date(2024, 6, 1)
NOT = "must_not"


@pytest.mark.parametrize(
    ("condition", "clause"),
    [
        ("year=2001", {"term": {"year": 2001}}),
        ("year!=2001", {"bool": {NOT: [{"term": {"year": 2001}}]}}),
        ("year>=2001", {"range": {"year": {"gte": 2001}}}),
        ("venue=Straße", {"term": {"facets.venue": "strasse"}}),
        ("venue=", {"term": {"facets.venue": ""}}),
        ("venue<N", {"range": {"facets.venue": {"lt": "n", "gt": ""}}}),
        ("venue>=", {"range": {"facets.venue": {"gt": ""}}}),
        ("date>=2001-05", {"range": {"facets.date": {"gte": "2001-05"}}}),
        ("keywords=A", {"term": {"facets.keywords": "a"}}),
        ("keywords=", {"bool": {NOT: [{"exists": {"field": "facets.keywords"}}]}}),
    ],
)
def test_conditions_are_asked_of_facets(condition: str, clause: dict[str, Any]) -> None:
    """Folded, so that case does not matter; a comparison is not met by what is missing."""
    scope = Scope(where=(Condition.parse(condition),), restricted=True)
    assert admitted(scope, DAY) == {"bool": {"filter": [clause]}}


def test_nothing_is_asked_where_everything_is_admitted() -> None:
    assert admitted(Scope(restricted=True), DAY) == {"match_all": {}}


def test_access_is_decided_on_the_day_of_the_search() -> None:
    assert admitted(Scope(), DAY) == {"bool": {"filter": [searchable(DAY)]}}
    assert "2024-06-01" in str(searchable(DAY))
    assert searchable(DAY) != searchable(date(2024, 6, 2))


def test_the_query_paper_is_left_out() -> None:
    """By the key that the index knows it by."""
    clause = admitted(Scope(restricted=True), DAY, but="x" * 600)
    assert clause == {"bool": {"filter": [{"bool": {NOT: [by_ids(["x" * 600])]}}]}}
    assert by_ids(["x" * 600]) == {"ids": {"values": [document_id("x" * 600)]}}


@pytest.mark.parametrize(
    "condition", [Condition("colour", "=", "red"), Condition("year", "=", "x"), Condition("keywords", "=", "\ud800")]
)
def test_what_no_paper_has_is_refused(condition: Condition) -> None:
    with pytest.raises(QueryError, match="cannot filter by"):
        admitted(Scope(where=(condition,)), DAY)
