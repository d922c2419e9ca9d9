"""Sentence matches: the paper's definitions, POT's numbers, and nothing undefined at the edges."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciret.encoded import Vector
from sciret.errors import QueryError, SettingsError, StoreError
from sciret.retrieval import transport
from sciret.retrieval.transport import ASPECT_TAU, WHOLE_TAU, Array, Measure, match

MEASURES: Sequence[Measure] = transport.MEASURES
TAUS = (ASPECT_TAU, WHOLE_TAU)


@pytest.fixture(scope="module")
def ot() -> Any:
    for backend in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW"):  # they take seconds to import, and are not used
        os.environ[f"POT_BACKEND_DISABLE_{backend}"] = "1"
    with warnings.catch_warnings(action="ignore"):  # its source has escapes that Python deprecates
        import ot

    return ot


def unit(vectors: Any) -> Vector:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32)


def papers(count: int, spread: float, *, seed: int = 0, longest: int = 15) -> list[Vector]:
    """Sentences around a few subjects that all papers share: the smaller the spread, the harder to solve."""
    rng = np.random.default_rng(seed)
    subjects = unit(rng.normal(size=(6, 64)))
    return [
        unit(subjects[rng.integers(0, 6, size)] + spread * rng.normal(size=(size, 64)) / 8)
        for size in rng.integers(1, longest + 1, count)
    ]


def pairwise(query: Vector, paper: Vector) -> Array:
    return np.asarray(np.linalg.norm(query[:, None, :].astype(np.float64) - paper[None], axis=2))


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max())
    return np.asarray(powers / powers.sum())


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("spread", [0.5, 1.0, 3.0])
def test_transport_has_the_numbers_of_pot(ot: Any, spread: float, tau: float) -> None:
    """Distances and plans agree with POT's Sinkhorn to 1e-4, for papers of all lengths solved together."""
    query, *others = papers(25, spread)
    found = match(query, others, "transport", tau=tau)
    for i, paper in enumerate(others):
        cost = pairwise(query, paper)
        rows, columns = softmax(-cost.min(axis=1) / tau), softmax(-cost.min(axis=0) / tau)
        plan = ot.sinkhorn(rows, columns, cost, 1 / 20, stopThr=1e-8, numItermax=200_000)
        assert found.distances[i] == pytest.approx((plan * cost).sum(), abs=1e-4)
        np.testing.assert_allclose(found.plan(i).mass, plan, atol=1e-4)


def test_single_is_the_least_distance() -> None:
    query, *others = papers(20, 1.0)
    found = match(query, others, "single", tau=ASPECT_TAU)
    np.testing.assert_allclose(found.distances, [pairwise(query, paper).min() for paper in others], atol=1e-6)
    plan = found.plan(3)
    assert plan.mass.sum() == 1
    assert plan.distance[plan.mass == 1] == [plan.distance.min()]


@pytest.mark.parametrize("tau", TAUS)
def test_attention_weighs_every_pair(tau: float) -> None:
    query, *others = papers(20, 1.0)
    found = match(query, others, "attention", tau=tau)
    for i, paper in enumerate(others):
        cost = pairwise(query, paper)
        weights = softmax(-cost.ravel() / tau).reshape(cost.shape)
        assert found.distances[i] == pytest.approx((weights * cost).sum(), abs=1e-6)
        np.testing.assert_allclose(found.plan(i).mass, weights, atol=1e-6)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("spread", [0.0, 0.01, 0.5, 3.0])
def test_plans_have_their_marginals(spread: float, tau: float) -> None:
    """Also where sweeps alone would need a hundred thousand iterations: groups of sentences far from each other."""
    query, *others = papers(40, spread, seed=3)
    found = match(query, others, "transport", tau=tau)
    for i, paper in enumerate(others):
        plan, cost = found.plan(i), pairwise(query, paper)
        np.testing.assert_allclose(plan.distance, cost, atol=1e-6)
        np.testing.assert_allclose(plan.mass.sum(axis=1), softmax(-cost.min(axis=1) / tau), atol=1e-5)
        np.testing.assert_allclose(plan.mass.sum(axis=0), softmax(-cost.min(axis=0) / tau), atol=1e-5)
        assert (plan.mass * plan.distance).sum() == pytest.approx(found.distances[i], abs=1e-6)


def test_mass_that_has_to_cross_converges() -> None:
    """Two far groups, five of ten sentences here and five of eleven there: a little mass has to cross the gulf."""
    here, there = np.eye(2, dtype=np.float32)
    query, paper = np.stack([here] * 5 + [there] * 5), np.stack([here] * 5 + [-here] * 6)
    found = match(query, [paper], "transport", tau=WHOLE_TAU)
    crossing = 1 / 2 - 5 / 11  # of the query's first half, what the paper's first half cannot take
    expected = crossing * 2 + 1 / 2 * np.sqrt(2)
    assert found.distances[0] == pytest.approx(expected, abs=1e-4)


def test_one_query_sentence_spreads_by_the_marginals() -> None:
    """With one sentence on a side there is one plan, the other side's marginals."""
    query, paper = papers(2, 1.0, seed=8)
    cost = pairwise(query[:1], paper)
    expected = softmax(-cost[0] / ASPECT_TAU)
    np.testing.assert_allclose(
        match(query[:1], [paper], "transport", tau=ASPECT_TAU).plan(0).mass[0], expected, atol=1e-6
    )
    np.testing.assert_allclose(
        match(paper, [query[:1]], "transport", tau=ASPECT_TAU).plan(0).mass[:, 0], expected, atol=1e-6
    )


@pytest.mark.parametrize("measure", MEASURES)
def test_equal_sentences_are_no_distance_apart(measure: Measure) -> None:
    """Rounding in float32 must not put a sentence 3e-4 from itself."""
    sentence = papers(1, 1.0, longest=1)[0]
    found = match(sentence, [sentence, np.repeat(sentence, 4, axis=0)], measure, tau=ASPECT_TAU)
    np.testing.assert_allclose(found.distances, 0, atol=1e-6)
    np.testing.assert_allclose(found.similarity, 1, atol=1e-6)


def test_similarity_is_the_cosine_of_the_distance() -> None:
    query, paper = unit([[1, 0]]), unit([[1, 2]])
    assert match(query, [paper], "single", tau=1).similarity == pytest.approx([1 / np.sqrt(5)], abs=1e-6)


@pytest.mark.parametrize("measure", MEASURES)
def test_groups_do_not_change_distances(measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    """Papers solved in several groups, as very long ones are to save memory, keep their order and numbers."""
    query, *others = papers(30, 1.0, seed=5, longest=70)
    together = match(query, others, measure, tau=ASPECT_TAU)
    monkeypatch.setattr(transport, "_CELLS", 50)
    apart = match(query, others, measure, tau=ASPECT_TAU)
    np.testing.assert_allclose(apart.distances, together.distances, atol=1e-6)


@settings(max_examples=150, deadline=None)
@given(
    data=st.data(),
    measure=st.sampled_from(MEASURES),
    tau=st.sampled_from([0.01, ASPECT_TAU, WHOLE_TAU]),
    dims=st.integers(1, 4),
)
def test_every_input_gives_numbers(data: st.DataObject, measure: Measure, tau: float, dims: int) -> None:
    """Duplicates, opposites and single sentences included: distances of unit vectors lie between 0 and 2."""
    value = st.sampled_from([-1.0, 0.0, 1e-3, 0.5, 1.0])
    sentence = st.lists(value, min_size=dims, max_size=dims).filter(any)
    matrix = st.lists(sentence, min_size=1, max_size=12).map(unit)
    query, others = data.draw(matrix), data.draw(st.lists(matrix, max_size=6))
    found = match(query, others, measure, tau=tau)
    assert found.distances.shape == (len(others),)
    assert np.all((found.distances >= 0) & (found.distances <= 2 + 1e-6))
    for i, other in enumerate(others):
        assert found.plan(i).mass.shape == (len(query), len(other))
        assert found.plan(i).mass.sum() == pytest.approx(1, abs=1e-5)


def test_no_papers_are_no_distances() -> None:
    assert match(unit([[1, 0]]), [], "transport", tau=1).distances.shape == (0,)


def test_what_cannot_be_matched_is_refused() -> None:
    """The message names the part that is wrong."""
    fine, none = unit([[1.0, 0.0]]), np.zeros((0, 2), np.float32)
    with pytest.raises(SettingsError, match="'hungarian'"):
        match(fine, [fine], "hungarian", tau=1)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="above 0"):
        match(fine, [fine], "transport", tau=0)
    with pytest.raises(QueryError, match="query has no sentence"):
        match(none, [fine], "transport", tau=1)
    with pytest.raises(StoreError, match="candidate has no sentence"):
        match(fine, [fine, none], "transport", tau=1)
    with pytest.raises(StoreError, match="not numbers"):
        match(fine, [np.full((1, 2), np.nan, np.float32)], "transport", tau=1)
