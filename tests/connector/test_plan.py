"""Sizes before there is an index: proportions and the formula for graphs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sciret.connector.plan import FEATURES, Corpus, estimate, features_of
from sciret.mappings.options import IndexOptions

MILLION = Corpus(1_000_000)


def test_graphs_in_memory_by_the_formula_of_the_plugin() -> None:
    """1.1 · (4·d + 8·m) bytes a vector: its documentation has a million vectors of 256 numbers with m = 16."""
    plan = estimate(Corpus(1_000_000, dims=256), IndexOptions(sentences=False, replicas=0))
    assert plan.graphs == pytest.approx(1.1 * (4 * 256 + 8 * 16) * 1e6)
    assert plan.graphs == pytest.approx(1.267e9, rel=1e-3)


def test_ten_times_the_papers_take_ten_times_the_space() -> None:
    small, large = estimate(MILLION, IndexOptions()), estimate(replace(MILLION, papers=10_000_000), IndexOptions())
    assert large.disk == pytest.approx(10 * small.disk)
    assert large.memory_a_node == pytest.approx(10 * small.memory_a_node)


def test_copies_share_the_nodes() -> None:
    plan = estimate(MILLION, IndexOptions(replicas=1), nodes=4)
    assert plan.disk == pytest.approx(2 * plan.index)
    assert plan.disk_a_node == pytest.approx(plan.index / 2)


def test_sentences_are_most_of_it_and_can_be_left_out() -> None:
    whole, flat = (estimate(MILLION, IndexOptions(sentences=each)) for each in (True, False))
    assert whole.vectors == 10_000_000
    assert flat.vectors == 1_000_000
    assert flat.graphs == pytest.approx(whole.graphs / 10)
    assert flat.parts["vectors for rescoring"] == whole.parts["vectors for rescoring"]


@pytest.mark.parametrize(
    ("engine", "quantization", "number"),
    [("lucene", "byte", 1), ("faiss", "none", 4), ("faiss", "fp16", 2), ("faiss", "binary", 1 / 8)],
)
def test_quantization_saves_memory_and_costs_disk(engine: str, quantization: str, number: float) -> None:
    """The vectors as they are stay beside the smaller ones."""
    layout = IndexOptions(engine=engine, quantization=quantization, sentences=False)  # type: ignore[arg-type]
    plan = estimate(MILLION, layout)
    assert plan.graphs == pytest.approx(1.1 * (number * 384 + 128) * 1e6)
    assert plan.index > estimate(MILLION, IndexOptions(sentences=False)).index


def test_without_vectors_there_are_no_graphs() -> None:
    """A model that gives tokens only."""
    for sentences in (True, False):
        plan = estimate(Corpus(1_000, features=130, dims=0), IndexOptions(sentences=sentences))
        assert (plan.vectors, plan.graphs, plan.parts["graphs"]) == (0, 0, 0)


def test_a_paper_has_features_where_the_bundle_gives_them() -> None:
    assert features_of(("dense", "sentences")) == 0
    assert features_of(("tokens",)) == FEATURES["tokens"] > 0
    assert features_of(("dense", "sentences", "tokens", "keyphrases")) == sum(FEATURES.values())


def test_features_take_their_share() -> None:
    with_features = estimate(replace(MILLION, features=100), IndexOptions())
    assert with_features.index - estimate(MILLION, IndexOptions()).index == pytest.approx(
        with_features.parts["tokens and keyphrases"]
    )
