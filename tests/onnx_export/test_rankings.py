"""An int8 graph that finds other texts than the fp32 graph is not written."""

from __future__ import annotations

import numpy as np
import pytest

from sciret.encoded import Vector
from sciret.encoders.bundle import Sparse
from sciret.errors import BundleError
from sciret.onnx_export.rankings import compare_rankings, overlap, pruned

CHANCE = np.random.default_rng(0)
WEIGHTS = (CHANCE.exponential(size=(20, 60)) * (CHANCE.random((20, 60)) < 0.4)).astype(np.float32)


def unit(vectors: Vector) -> Vector:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


DENSE = unit(CHANCE.normal(size=(20, 16)).astype(np.float32))


def test_the_same_vectors_rank_the_same() -> None:
    """1 in every figure, by vectors and by weights; the latter only of a sparse model."""
    outputs = {"dense": DENSE, "tokens": WEIGHTS, "keyphrases": WEIGHTS[:, :9]}
    assert compare_rankings(outputs, outputs, Sparse()) == {
        "dense": {"overlap_at_10": 1, "ndcg_at_10": 1},
        "sparse": {"overlap_at_10": 1, "ndcg_at_10": 1},
    }
    assert set(compare_rankings({"dense": DENSE}, {"dense": DENSE}, None)) == {"dense"}
    assert set(compare_rankings({"tokens": WEIGHTS}, {"tokens": WEIGHTS}, Sparse())) == {"sparse"}


def test_other_vectors_are_refused() -> None:
    """Those of other texts, for instance, whose cosines may be as high as any; a little noise is none of that."""
    near = unit(DENSE + 0.01 * CHANCE.normal(size=DENSE.shape).astype(np.float32))
    figures = compare_rankings({"dense": DENSE}, {"dense": near}, None)["dense"]
    assert 0.9 < figures["ndcg_at_10"] < 1
    with pytest.raises(BundleError, match=r"dense: nDCG.*--precision fp32"):
        compare_rankings({"dense": DENSE}, {"dense": DENSE[::-1]}, None)
    with pytest.raises(BundleError, match=r"sparse: nDCG"):
        compare_rankings({"tokens": WEIGHTS}, {"tokens": WEIGHTS[::-1]}, Sparse())
    with pytest.raises(BundleError, match=r"nDCG nan|nDCG 0"):
        compare_rankings({"tokens": WEIGHTS}, {"tokens": np.full_like(WEIGHTS, np.nan)}, Sparse())


def test_keyphrases_count_beta() -> None:
    """With β = 0 they do not matter, however different."""
    ours = {"tokens": WEIGHTS, "keyphrases": WEIGHTS[:, :9]}
    others = {"tokens": WEIGHTS, "keyphrases": 50 * WEIGHTS[::-1, :9]}
    assert compare_rankings(ours, others, Sparse(beta=0))["sparse"]["ndcg_at_10"] == 1
    with pytest.raises(BundleError):
        compare_rankings(ours, others, Sparse(beta=1))


def test_features_are_compared_as_encoders_keep_them() -> None:
    """After pruning, and only of texts that have any."""
    weights = np.array([[8, 1, 1, 0], [0, 0, 0, 0], [5, 5, 0, 0]], np.float32)
    assert pruned(weights, 0.8).tolist() == [[8, 0, 0, 0], [0, 0, 0, 0], [5, 5, 0, 0]]
    assert overlap(weights, weights, 0.8) == 1
    assert overlap(weights, np.array([[8, 3, 0, 0], [0, 0, 0, 0], [5, 5, 0, 0]], np.float32), 0.8) == 0.75
    assert overlap(weights[1:2], weights[1:2], 0.8) == 1
