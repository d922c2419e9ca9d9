"""Which request finds papers by learned features, and what is made of what the server knows only roughly."""

from __future__ import annotations

from typing import Any

import pytest

from sciret.connector import learned
from sciret.encoded import EncodedQuery

EVERYTHING: dict[str, Any] = {"match_all": {}}
QUERY = EncodedQuery("text", "m", tokens={"cell": 2.0}, keyphrases={"v. 2": 4.0})


def test_the_plugin_is_used_where_it_is_there() -> None:
    """The same weights either way, by the names that the index has for them."""
    (neural,) = learned.body(QUERY, 5, EVERYTHING, neural=True)["query"]["bool"]["must"]  # type: ignore[index]
    (plain,) = learned.body(QUERY, 5, EVERYTHING, neural=False)["query"]["bool"]["must"]  # type: ignore[index]
    assert neural["bool"]["should"] == [
        {"neural_sparse": {"tokens": {"query_tokens": {"cell": 2.0}}}},
        {"neural_sparse": {"keyphrases": {"query_tokens": {"v%2E 2": 1.0}}}},
    ]
    assert plain["bool"]["should"] == [
        {"rank_feature": {"field": "tokens.cell", "boost": 2.0, "linear": {}}},
        {"rank_feature": {"field": "keyphrases.v%2E 2", "boost": 1.0, "linear": {}}},
    ]


@pytest.mark.parametrize("neural", [True, False])
def test_a_query_without_features_is_not_sent(neural: bool) -> None:
    assert learned.body(EncodedQuery("text", "m", tokens={"a": 0.0}), 5, EVERYTHING, neural=neural) is None
    assert learned.body(EncodedQuery("t", "m", keyphrases={"a": 1.0}, beta=0), 5, EVERYTHING, neural=neural) is None


def test_papers_are_scored_by_the_weights_of_their_source() -> None:
    sources: list[dict[str, Any]] = [
        {"id": "a", "tokens": {"cell": 1.0}},
        {"id": "b", "keyphrases": {"v%2E 2": 3.0}},
        {"id": "c"},
    ]
    cells = learned.contributions(sources, learned.project(QUERY))
    assert cells.tolist() == [[2 / 8, 0], [0, 0.25 * 4 * 3 / 8], [0, 0]]
    assert learned.best(sources, QUERY, 2) == ["b", "a"]


def test_equal_papers_are_ordered_by_id() -> None:
    assert learned.best([{"id": i, "tokens": {"cell": 1.0}} for i in "cab"], QUERY, 2) == ["a", "b"]


def test_whoever_could_be_better_is_looked_at() -> None:
    """A weight loses less than a 256th in the index, and so does a sum of them."""
    body = learned.body(QUERY, 2, EVERYTHING, neural=False)
    assert body is not None
    more = learned.maybe_better(body, {"hits": {"hits": [{"_score": 4.0}, {"_score": 2.0}]}})
    assert 2.0 * (1 - 2**-6) < more["min_score"] < 2.0 * (1 - 2**-8)
    assert more["size"] == 10_000
