"""Bodies of requests: limits are kept, filters are where they narrow before the k best are taken."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import numpy as np
import pytest

from sciret.connector import queries, statistics
from sciret.connector.filters import admitted
from sciret.store import LEXICAL, Condition, Lexical, Scope

VECTOR = np.ones(3, np.float32)
FILTER = admitted(Scope(where=(Condition.parse("year>2000"),)), date(2024, 1, 1))
BODIES = {
    "bm25": queries.lexical("bm25", {"a": 1, "b": 2}, 7, FILTER),
    "tfidf": queries.lexical("tfidf", {"a": 1, "b": 2}, 7, FILTER),
    "long bm25": queries.lexical("bm25", {f"t{i}": 1 for i in range(3000)}, 7, FILTER),
    "long tfidf": queries.lexical("tfidf", {f"t{i}": 1 for i in range(3000)}, 7, FILTER),
    "exact bm25": queries.exact_lexical("bm25", {"a": 0.5, "b": 0.5}, 10.0, 7, FILTER),
    "exact tfidf": queries.exact_lexical("tfidf", {"a": 0.5, "b": 0.5}, 10.0, 7, FILTER),
    "dense": queries.nearest(VECTOR, 7, FILTER),
    "exact dense": queries.exact_nearest(VECTOR, 7, FILTER),
    "sentence": queries.nearest_sentences(np.stack([VECTOR, VECTOR]), 7, FILTER),
    "exact sentence": queries.exact_nearest_sentences(np.stack([VECTOR, VECTOR]), 7, FILTER),
    "rank_features": queries.rank_features({"t": 1.0}, {"k.p": 1.0}, 0.25, 7, FILTER),
    "neural_sparse": queries.neural_sparse({"t": 1.0}, {"k.p": 1.0}, 0.25, 7, FILTER),
    "chosen": queries.chosen([f"p{i}" for i in range(7)], FILTER),
}


def parts(body: Any) -> Iterator[Mapping[str, Any]]:
    """Every object within a body."""
    if isinstance(body, Mapping):
        yield body
        for value in body.values():
            yield from parts(value)
    elif isinstance(body, list):
        for value in body:
            yield from parts(value)


@pytest.mark.parametrize("name", BODIES)
def test_candidates_are_ids_and_nothing_else(name: str) -> None:
    """No stored field is unpacked for them, and nobody counts what was not found."""
    body = json.loads(json.dumps(BODIES[name]))
    assert body["size"] == 7
    assert body["stored_fields"] == "_none_"
    assert body["docvalue_fields"] == ["id"]
    assert body["track_total_hits"] is False


@pytest.mark.parametrize("name", BODIES)
def test_the_filter_is_part_of_every_query(name: str) -> None:
    """Never a post filter, which would narrow what is left of the k best."""
    assert "post_filter" not in BODIES[name]
    assert any(part.get("filter") == FILTER or FILTER in _listed(part.get("filter")) for part in parts(BODIES[name]))


@pytest.mark.parametrize("name", ["dense", "sentence"])
def test_the_filter_is_inside_each_graph_search(name: str) -> None:
    searches = [part["knn"] for part in parts(BODIES[name]) if "knn" in part]
    assert len(searches) == (2 if name == "sentence" else 1)
    for search in searches:
        (options,) = search.values()
        assert (options["k"], options["filter"]) == (7, FILTER)


@pytest.mark.parametrize("sparse", LEXICAL)
@pytest.mark.parametrize("count", [1, 999, 1000, 1001, 3000])
def test_never_more_clauses_than_the_server_takes(sparse: Lexical, count: int) -> None:
    """Beyond it the server chooses the most selective words itself, by its own statistics."""
    body = queries.lexical(sparse, {f"t{i}": 1 for i in range(count)}, 10, FILTER)
    clauses = sum("term" in part for part in parts(body)) + sum("range" in part for part in parts(body))
    assert clauses <= 1024
    chosen = [part["more_like_this"] for part in parts(body) if "more_like_this" in part]
    assert bool(chosen) == (count > 1000)
    for choice in chosen:
        assert choice["max_query_terms"] == 1000
        assert len(choice["like"].split()) == count


def test_the_heaviest_features_are_kept() -> None:
    """A keyphrase weighs β of its own; names are escaped, since a dot would match nothing."""
    tokens = {f"t.{i}": float(i) for i in range(1, 1500)}
    body = queries.rank_features(tokens, {"light": 1.0, "heavy": 9999.0}, 0.25, 10, FILTER)
    features = [part["rank_feature"] for part in parts(body) if "rank_feature" in part]
    assert len(features) == queries.CLAUSES
    assert features[0] == {"field": "keyphrases.heavy", "boost": 0.25 * 9999, "linear": {}}
    assert features[1]["field"] == "tokens.t%2E1499"
    assert not any(feature["field"] == "keyphrases.light" for feature in features)


def test_a_query_without_features_finds_nothing() -> None:
    body = queries.rank_features({}, {"zero": 0.0}, 0.25, 10, FILTER)
    assert {"match_none": {}} in body["query"]["bool"]["must"]


@pytest.mark.parametrize("name", [name for name in BODIES if name.startswith("exact")])
def test_exact_candidates_are_ordered_to_the_last_tie(name: str) -> None:
    assert BODIES[name]["sort"] == [{"_score": "desc"}, {"id": "asc"}]


def test_what_words_are_worth_is_counted_without_looking_at_papers() -> None:
    """One count a word and one for the whole: all of size 0, which the server may remember between writes."""
    assert statistics.bodies({}) == []
    bodies = statistics.bodies({"a": 1, "b": 3})
    assert [body["size"] for body in bodies] == [0, 0, 0]
    assert [body["query"] for body in bodies[1:]] == [{"term": {"words": "a"}}, {"term": {"words": "b"}}]


def test_a_query_vector_is_sent_as_numbers() -> None:
    json.dumps(BODIES["dense"])
    assert BODIES["dense"]["query"]["knn"]["dense"]["vector"] == [1.0, 1.0, 1.0]


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
