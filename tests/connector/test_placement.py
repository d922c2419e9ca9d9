"""Every request of a search, for papers that are inside other documents."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import numpy as np
import pytest

from sciret.connector import queries, statistics
from sciret.connector.filters import admitted
from sciret.connector.placement import placed, taken_out
from sciret.mappings.in_place import in_place_fields
from sciret.mappings.options import IndexOptions
from sciret.store import LISTS, TEXTS, Condition, Scope

DAY = date(2024, 6, 1)
VECTOR = np.ones(4, np.float32)
SCOPE = Scope((Condition("year", ">=", 2000), Condition("authors", "!=", "a"), Condition("keywords", "=", "")))
CLAUSE = admitted(SCOPE, DAY, but="p1")
BODIES: dict[str, queries.Body] = {
    "lexical": queries.lexical("bm25", {"moss": 1, "peat": 2}, 5, CLAUSE),
    "many words": queries.lexical("bm25", {f"w{n}": 1 for n in range(1001)}, 5, CLAUSE),
    "exact bm25": queries.exact_lexical("bm25", {"moss": 1.0}, 9.0, 5, CLAUSE),
    "exact tfidf": queries.exact_lexical("tfidf", {"moss": 1.0}, 9.0, 5, CLAUSE),
    "nearest": queries.nearest(VECTOR, 5, CLAUSE),
    "exact nearest": queries.exact_nearest(VECTOR, 5, CLAUSE),
    "features": queries.rank_features({"a": 1.0}, {"b.c": 2.0}, 0.25, 5, CLAUSE),
    "neural": queries.neural_sparse({"a": 1.0}, {"b.c": 2.0}, 0.25, 5, CLAUSE),
    "chosen": queries.chosen(["p1"], CLAUSE),
    "records": queries.records(["p1"], ["id", "title"]),
    "figures": queries.figures(DAY),
    **{f"counts {n}": body for n, body in enumerate(statistics.bodies({"moss": 1}))},
}


def fields_of(node: Any, names: set[str]) -> set[str]:
    """Every string in a body, keys and values, that is a field's name or a path that begins with one."""
    if isinstance(node, dict):
        return {found for key, value in node.items() for found in fields_of(key, names) | fields_of(value, names)}
    if isinstance(node, list):
        return {found for each in node for found in fields_of(each, names)}
    return {node} if isinstance(node, str) and node.split(".")[0] in names else set()


@pytest.mark.parametrize("name", BODIES)
def test_no_field_is_left_outside(name: str) -> None:
    """Other than names of aggregations, and a script's "source", which is a field's name by chance."""
    fields = set(in_place_fields(IndexOptions(sentences=False), 4, knn=True)["sciret"]["properties"])
    inside = placed(BODIES[name])
    assert fields_of(inside, fields) <= {"source", *BODIES[name].get("aggs", {})}
    assert fields_of(inside, {"sciret"}) or "'sciret." in json.dumps(inside)


def test_fields_in_scripts() -> None:
    source = placed(BODIES["exact bm25"])["query"]["script_score"]["script"]["source"]
    assert "doc['sciret.word_count']" in source
    assert "termFreq('sciret.words', params" in source


def test_the_words_of_a_query_are_not_fields() -> None:
    """Somebody may search for "title" or "year"."""
    body = placed(queries.lexical("bm25", {"title": 1}, 5, admitted(Scope(restricted=True), DAY)))
    (term,) = body["query"]["bool"]["must"][0]["bool"]["should"]
    assert term == {"term": {"sciret.words": {"value": "title", "boost": 1.0}}}
    like = placed(BODIES["many words"])["query"]["bool"]["must"][0]["more_like_this"]
    assert (like["fields"], like["like"][:8]) == (["sciret.words"], "w0 w1 w2")


def test_everything_means_every_paper() -> None:
    """Documents of the index that sciret has nothing in are none."""
    assert placed(BODIES["figures"])["query"] == {"exists": {"field": "sciret.id"}}


@pytest.mark.parametrize("field", [*TEXTS, *LISTS])
def test_conditions(field: str) -> None:
    clause = admitted(Scope((Condition(field, "=", "x"),), restricted=True), DAY)
    assert placed({"query": clause})["query"]["bool"]["filter"] == [{"term": {f"sciret.facets.{field}": "x"}}]


def test_conditions_of_keyphrases() -> None:
    clause = admitted(Scope((Condition("keyphrase", "=", "Sea ice"),), restricted=True), DAY)
    assert placed({"query": clause})["query"]["bool"]["filter"] == [{"term": {"sciret.keyphrase_terms": "sea ice"}}]


def test_answers_are_taken_out_of_their_documents() -> None:
    hits = [
        {"_id": "1", "_source": {"sciret": {"id": "1", "title": "T"}}},
        {"_id": "2", "_source": {}},
        {"_id": "3", "fields": {"sciret.id": ["3"]}},
    ]
    found = taken_out({"took": 1, "hits": {"total": {"value": 3}, "hits": hits}})
    assert found["hits"]["hits"] == [
        {"_id": "1", "_source": {"id": "1", "title": "T"}},
        {"_id": "3", "fields": {"id": ["3"]}},
    ]
