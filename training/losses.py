"""What CASPER minimises: contrast of queries and papers, sparsity, and agreement with a teacher.

Everything here is a pure function of whole batches. Over several processes the vectors are gathered first
(sciret.training.processes), so that the loss is that of one process with all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

Contrast = Literal["decoupled", "unified"]
Distillation = Literal["none", "margin-mse", "kl"]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Of B queries with D documents: the B positives in the queries' order, then the negatives of each in turn."""

    tokens: Tensor  # [B, D] Σ q_t·d_t
    keyphrases: Tensor  # [B, D] Σ q_k·d_k

    def total(self, beta: float) -> Tensor:
        return self.tokens + beta * self.keyphrases


def contrast(scores: Scores, documents: Tensor, weights: Tensor, kind: Contrast, beta: float) -> Tensor:
    """How surprising each query's positive is among the documents [D] of the batch, as a weighted mean.

    `unified`: one softmax over the whole score, hard negatives included. `decoupled`: tokens and keyphrases have one
    each. Tokens see hard negatives. Keyphrases see only the other queries' positives: a hard negative is about the
    same concepts, and punishing its keyphrases would unlearn them. β has no part in it and can be chosen afterwards.
    """
    others = twins(documents, len(weights))  # [B, D]
    if kind == "unified":
        return surprise(scores.total(beta), others, weights)
    batch = len(weights)
    tokens = surprise(scores.tokens, others, weights)
    return tokens + surprise(scores.keyphrases[:, :batch], others[:, :batch], weights)


def surprise(scores: Tensor, excluded: Tensor, weights: Tensor) -> Tensor:
    """Weighted mean of -log softmax at the diagonal of [B, D], without the excluded cells."""
    own = torch.arange(len(scores), device=scores.device)
    losses = functional.cross_entropy(scores.masked_fill(excluded, -torch.inf), own, reduction="none")  # [B]
    return (losses * weights).sum() / weights.sum()


def twins(documents: Tensor, batch: int) -> Tensor:
    """Cells [B, D] that hold a query's own positive a second time: no negative, though it stands among them."""
    same = documents[:batch, None] == documents[None, :]
    same[:, :batch].fill_diagonal_(False)
    return same


def flops(vectors: Tensor) -> Tensor:
    """Σ over features of (mean weight over the batch)²: the expected number of multiplications of a score."""
    return vectors.mean(dim=0).square().sum()


def quadratic(step: int, steps: int) -> float:
    """Share of the final λ at a step: grows as (step / steps)², since strong sparsity at the start kills features."""
    return 1.0 if step >= steps else (step / steps) ** 2


def distil(student: Tensor, teacher: Tensor, kind: Distillation, temperature: float) -> Tensor:
    """Disagreement of scores [B, 1 + N] of the positive and the hard negatives; NaN: the teacher does not say.

    Teachers' scores are divided by the temperature first, which brings cosines to the scale of log-odds.
    """
    known = ~teacher.isnan()
    scores = (teacher / temperature).nan_to_num()
    if kind == "margin-mse":
        pairs = known[:, 1:] & known[:, :1]
        difference = (student[:, :1] - student[:, 1:]) - (scores[:, :1] - scores[:, 1:])
        return (difference.square() * pairs).sum() / pairs.sum().clamp(min=1)
    nothing = torch.finfo(student.dtype).min / 2  # not -inf, whose gradient is not a number in a row without scores
    target = torch.log_softmax(scores.masked_fill(~known, nothing), dim=1)
    given = torch.log_softmax(student.masked_fill(~known, nothing), dim=1)
    divergence = torch.where(known, target.exp() * (target - given), 0).sum(dim=1)  # [B]
    rows = known[:, 0] & (known.sum(dim=1) > 1)
    return torch.where(rows, divergence, 0).sum() / rows.sum().clamp(min=1)


def own_scores(scores: Tensor, negatives: int) -> Tensor:
    """Of [B, B + B·N], each query's positive and its own N negatives: [B, 1 + N]."""
    batch = len(scores)
    own = torch.arange(batch, device=scores.device)
    of_negatives = batch + own[:, None] * negatives + torch.arange(negatives, device=scores.device)  # [B, N]
    return scores.gather(1, torch.cat([own[:, None], of_negatives], dim=1))
