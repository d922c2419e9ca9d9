"""Weights, pooling and pruning as DESIGN §4 defines them, against loops that follow the definition word by word."""

from __future__ import annotations

import math

import pytest
import torch

from sciret.training.sparsity import limit, pool, prune


def by_definition(logits: torch.Tensor, positions: torch.Tensor, how: str) -> torch.Tensor:
    batch, length, features = logits.shape
    result = torch.zeros(batch, features)
    for b in range(batch):
        for n in range(features):
            weights = [math.log(1 + max(0.0, float(logits[b, i, n]))) for i in range(length) if positions[b, i]]
            result[b, n] = (max if how == "max" else sum)(weights or [0.0])
    return result


@pytest.mark.parametrize("how", ["max", "sum"])
def test_pooling_is_that_of_the_definition(how: str) -> None:
    """Also for a text of which no position counts: an empty vector, and a gradient that is a number."""
    logits = torch.randn(3, 5, 7, generator=torch.Generator().manual_seed(1)).requires_grad_()
    positions = torch.tensor([[1, 1, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0]]).bool()
    pooled = pool(logits * 1, positions, how)  # type: ignore[arg-type]
    torch.testing.assert_close(pooled, by_definition(logits.detach(), positions, how))
    pooled.sum().backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert not logits.grad[~positions].any()


def test_sums_of_low_precision_are_kept_in_full_precision() -> None:
    """256 small weights in bf16, where adding them one after the other would stop at a quarter."""
    logits = torch.full((1, 256, 1), 0.01, dtype=torch.bfloat16)
    pooled = pool(logits, torch.ones(1, 256, dtype=torch.bool), "sum")
    assert pooled.dtype == torch.float32
    assert float(pooled) == pytest.approx(256 * math.log1p(0.01), rel=0.01)


def test_pruning_keeps_the_fewest_weights_that_hold_the_mass() -> None:
    """4 + 3 of 10 hold less than 80 %; with 2 more they do. Nothing of nothing is nothing."""
    vectors = torch.tensor([[1.0, 4.0, 0.0, 2.0, 3.0], [0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 5.0, 0.0, 0.0, 0.0]])
    pruned = prune(vectors, 0.8)
    assert pruned.tolist() == [[0, 4, 0, 2, 3], [0, 0, 0, 0, 0], [0, 5, 0, 0, 0]]
    assert prune(vectors, 0.7).tolist()[0] == [0, 4, 0, 0, 3]
    assert torch.equal(prune(vectors, 1.0), vectors)


def test_a_query_keeps_the_features_with_the_largest_share_of_a_score() -> None:
    """A keyphrase of weight 3 counts 0.75 at β = 0.25: behind tokens of weight 1, before one of 0.5."""
    tokens, keyphrases = limit(torch.tensor([[1.0, 0.5, 2.0]]), torch.tensor([[3.0, 0.1]]), beta=0.25, most=3)
    assert tokens.tolist() == [[1, 0, 2]]
    assert keyphrases.tolist() == [[3, 0]]
