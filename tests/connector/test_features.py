"""Names of features: reversible in memory, and found on a real server whatever they are made of."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sciret.connector import queries
from sciret.connector.features import escape, escape_weights, unescape, unescape_weights
from sciret.connector.filters import admitted
from sciret.connector.store import OpenSearchStore
from sciret.encoded import EncodedPaper
from sciret.errors import StoreError
from sciret.mappings.options import IndexOptions
from sciret.paper import Paper
from sciret.store import Scope

# What breaks naive names: dots in every place, our own escape, wildcards, quotes, controls, other scripts.
AWKWARD = st.sampled_from(
    [
        *(".", "..", "a.b", ".a", "a.", "%", "%2E", "%25", "%%", "a b", " ", "*", "?", "a*", '"', "'", "\\", "/", "\n"),
        *("_id", "tokens", "tokens.a", "[CLS]", "##ing", "数学", "🧪", "é", "e\u0301", "{{", "}}", "$", "#", "\u200b"),
        "x" * 1000,
    ]
)
NAMES = AWKWARD | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)


@given(name=st.text())
def test_escaping_is_reversible_and_leaves_no_dot(name: str) -> None:
    assert unescape(escape(name)) == name
    assert "." not in escape(name)
    assert escape(name)


@given(names=st.sets(st.text(max_size=5), min_size=2, max_size=2))
def test_different_names_stay_different(names: set[str]) -> None:
    first, second = names
    assert escape(first) != escape(second)


def test_weights_come_back_and_zeros_are_no_features() -> None:
    weights = {"a.b": 0.5, "c%": 1e-37, "": 2.0, "none": 0.0}
    assert unescape_weights(escape_weights(weights, "p")) == {"a.b": 0.5, "c%": 1e-37, "": 2.0}


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -1.0, 1e-39, 1e39])
def test_weights_that_the_index_would_refuse_are_refused_with_the_name_of_the_paper(weight: float) -> None:
    with pytest.raises(StoreError, match=r"paper 'p7': the feature 'x'"):
        escape_weights({"x": weight}, "p7")


def test_a_name_may_be_long_but_not_endless() -> None:
    assert escape_weights({"y" * 32_766: 1.0}, "p")
    with pytest.raises(StoreError, match=r"longer than 32,766 bytes"):
        escape_weights({"ü" * 16_384: 1.0}, "p")


@pytest.fixture(params=["opensearch", "opensearch_2"])
def store(request: pytest.FixtureRequest, unique_name: Callable[[], str]) -> Any:
    server = request.getfixturevalue(request.param)
    with OpenSearchStore.open(f"{server.url}/{unique_name()}", create=True, options=IndexOptions(replicas=0)) as opened:
        yield opened


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(NAMES, min_size=1, max_size=25, unique=True),
    seed=st.integers(0, 2**32 - 1),
)
@example(names=[".", "a.b", "x" * 1000, "%2E", "deep learning. a survey", '"', "数学 🧪"], seed=0)
def test_features_survive_and_are_found(store: OpenSearchStore, names: list[str], seed: int) -> None:
    """Each by its own name only, as token and as keyphrase, by either kind of query, with the weights' sum as score."""
    rng = np.random.default_rng(seed)
    weights = {name: float(weight) for name, weight in zip(names, rng.uniform(0.1, 3, len(names)), strict=True)}
    papers = [_paper(f"p{i}", {name: weights[name]}, {}) for i, name in enumerate(names)]
    papers += [_paper(f"k{i}", {}, {name: weights[name]}) for i, name in enumerate(names)]
    papers.append(_paper("all", weights, weights))
    store.write(papers)
    kept = store.get(["all"])["all"]
    assert (kept.tokens, kept.keyphrases) == (weights, weights)
    open_to_all = admitted(Scope(restricted=True), datetime.now(UTC).date())
    kinds = [queries.rank_features]
    if store.client.server.has("opensearch-neural-search"):
        kinds.append(queries.neural_sparse)
    for kind in kinds:
        for i, name in enumerate(names):
            bodies = [kind({name: 2.0}, {}, 0.25, 10, open_to_all), kind({}, {name: 2.0}, 0.25, 10, open_to_all)]
            for answer, single, share in zip(store.client.msearch(bodies), (f"p{i}", f"k{i}"), (2.0, 0.5), strict=True):
                assert set(queries.found_ids(answer)) == {single, "all"}
                scores = [hit["_score"] for hit in answer["hits"]["hits"]]
                assert scores == pytest.approx([share * weights[name]] * 2, rel=0.01)
    store.delete([paper.paper.id for paper in papers])


def test_the_sum_over_both_kinds_is_the_score(store: OpenSearchStore) -> None:
    """Σ q_t·d_t + β Σ q_k·d_k, to the precision that the index has for weights."""
    rng = np.random.default_rng(3)
    names = [f"feature {i}.{i}" for i in range(60)]
    papers = [_paper(f"p{i}", _some(rng, names), _some(rng, names)) for i in range(40)]
    store.write(papers)
    tokens, keyphrases = _some(rng, names), _some(rng, names)
    expected = {
        paper.paper.id: sum(w * paper.tokens.get(n, 0) for n, w in tokens.items())
        + 0.25 * sum(w * paper.keyphrases.get(n, 0) for n, w in keyphrases.items())
        for paper in papers
    }
    body = queries.rank_features(tokens, keyphrases, 0.25, 40, {"match_all": {}})
    (answer,) = store.client.msearch([body])
    found = {hit["fields"]["id"][0]: hit["_score"] for hit in answer["hits"]["hits"]}
    assert found == pytest.approx({i: score for i, score in expected.items() if score}, rel=0.01)


def _paper(paper_id: str, tokens: dict[str, float], keyphrases: dict[str, float]) -> EncodedPaper:
    return EncodedPaper(Paper(paper_id, "title"), "m", sentences=("title",), tokens=tokens, keyphrases=keyphrases)


def _some(rng: np.random.Generator, names: list[str]) -> dict[str, float]:
    return {str(name): float(rng.uniform(0.1, 2)) for name in rng.choice(names, 12, replace=False)}
