"""What the anchored head is trained by: contrast of tokens, of keyphrases and of the whole score beside the encoder's
own, agreement with a teacher, and sparsity.

Only the columns that a batch speaks of are computed, and some by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn

from sciret.training.anchored import AnchoredHead, Positions
from sciret.training.losses import flops, surprise, twins

FUSION_SHARPNESS = 40.0
"""Scores of λ fusion lie within some tenths of each other."""


@dataclass(frozen=True, slots=True, eq=False)
class AnchoredBatch:
    """B queries with D papers: the B positives in their order, then as many hard negatives of each."""

    positions: Positions  # of the D papers
    papers: Tensor  # [D] numbers, by which the same one is known
    tokens: Tensor  # [T] columns: the queries' pieces, then some by chance
    phrases: Tensor  # [Q] the same of keyphrases
    query_counts: Tensor  # [B, T] how often each query has each piece; 0 for those by chance
    query_phrases: Tensor  # [B, Q] 0 or 1
    anchors: Tensor  # [D, T] saturated counts
    dense: Tensor  # [B, D] the encoder's own cosines
    teacher: Tensor  # [B, D]
    weights: Tensor  # [B]
    labels: Tensor  # [B] bool: the query's keyphrases are about the paper, not only in a sentence about it

    def to(self, device: torch.device) -> AnchoredBatch:
        return AnchoredBatch(**{f.name: getattr(self, f.name).to(device) for f in fields(self)})


@dataclass(frozen=True, slots=True)
class AnchoredObjective:
    beta: float = 0.25
    contrast: str = "decoupled"
    lambda_: float = 0.65
    fused_weight: float = 1.0
    phrase_contrast: float = 0.5
    label_weight: float = 0.25
    distillation_weight: float = 0.5
    token_flops: float = 1e-3
    keyphrase_flops: float = 1e-3


class AnchoredStep(nn.Module):
    def __init__(self, head: AnchoredHead, objective: AnchoredObjective) -> None:
        super().__init__()
        self.head = head
        self.objective = objective
        self.sharpness = nn.Parameter(torch.tensor(3.0))
        self.phrase_sharpness = nn.Parameter(torch.tensor(1.5))

    def forward(self, batch: AnchoredBatch, share: float) -> dict[str, Tensor]:
        """`loss` and its parts; `share` of the final sparsity is in force."""
        objective, head, own = self.objective, self.head, len(batch.weights)
        sparse = head.columns(batch.positions, batch.tokens, batch.phrases)
        w, v = head.token_root()[batch.tokens] ** 2, head.phrase_root()[batch.phrases] ** 2  # [T], [Q]
        by_tokens = (batch.query_counts * w) @ (batch.anchors + sparse.tokens).T  # [B, D]
        by_phrases = (batch.query_phrases * v) @ sparse.keyphrases.T  # [B, D]
        token_norm = (batch.query_counts**2) @ w  # [B]
        phrase_norm = batch.query_phrases @ v
        total = (by_tokens + objective.beta * by_phrases) / (token_norm + objective.beta * phrase_norm)[:, None]
        others = twins(batch.papers, own)
        parts: dict[str, Tensor] = {}
        sharp = self.sharpness.exp()
        alone = total if objective.contrast == "unified" else by_tokens / token_norm[:, None]
        parts["contrast"] = surprise(alone * sharp, others, batch.weights)
        if objective.contrast == "decoupled":
            has = batch.weights * (phrase_norm > 0) + 1e-9
            scores = by_phrases[:, :own] / phrase_norm.clamp(min=1e-6)[:, None] * self.phrase_sharpness.exp()
            parts["phrases"] = objective.phrase_contrast * surprise(scores, others[:, :own], has)
        fused = objective.lambda_ * batch.dense + (1 - objective.lambda_) * total
        parts["fused"] = objective.fused_weight * surprise(fused * FUSION_SHARPNESS, others, batch.weights)
        parts["distillation"] = objective.distillation_weight * self._disagreement(total * sharp, batch, others)
        parts["labels"] = objective.label_weight * self._labels(sparse.keyphrases[:own] * v, batch)
        held_out = parts["fused"] + parts["contrast"]
        chance = batch.query_counts.sum(dim=0) == 0  # [T]
        phrase_chance = batch.query_phrases.sum(dim=0) == 0
        scale = head.content.sum() / chance.sum().clamp(min=1)
        phrase_scale = len(head.phrases) / phrase_chance.sum().clamp(min=1)
        parts["flops"] = share * objective.token_flops * scale * flops(sparse.tokens[:, chance] * w[chance].sqrt())
        parts["phrase_flops"] = (
            share
            * objective.keyphrase_flops
            * phrase_scale
            * flops(sparse.keyphrases[:, phrase_chance] * v[phrase_chance].sqrt())
        )
        with torch.no_grad():
            seen = {
                "tokens_active": (sparse.tokens[:, chance] > 0).float().mean() * head.content.sum(),
                "keyphrases_active": (sparse.keyphrases[:, phrase_chance] > 0).float().mean() * len(head.phrases),
                "found": _first(total, others),
                "found_fused": _first(fused, others),
                "found_dense": _first(batch.dense, others),
                "found_teacher": _first(batch.teacher, others),
            }
        return {"loss": sum(parts.values()), "held_out": held_out, **parts, **seen}  # type: ignore[dict-item]

    def _disagreement(self, student: Tensor, batch: AnchoredBatch, others: Tensor) -> Tensor:
        """KL divergence from the teacher's softmax over all papers of the batch."""
        nothing = -1e4
        target = torch.log_softmax((batch.teacher * FUSION_SHARPNESS).masked_fill(others, nothing), dim=1)
        given = torch.log_softmax(student.masked_fill(others, nothing), dim=1)
        return ((target.exp() * (target - given)).sum(dim=1) * batch.weights).sum() / batch.weights.sum()

    def _labels(self, weights: Tensor, batch: AnchoredBatch) -> Tensor:
        """How surprising the keyphrases of the query are among those of its paper, weights [B, Q]."""
        wanted = batch.query_phrases * batch.labels[:, None]
        chances = torch.log_softmax(weights * self.phrase_sharpness.exp(), dim=1)
        return -(chances * wanted).sum() / wanted.sum().clamp(min=1)


def _first(scores: Tensor, others: Tensor) -> Tensor:
    """Share of queries whose positive comes first."""
    own = torch.arange(len(scores), device=scores.device)
    return (scores.masked_fill(others, -torch.inf).argmax(dim=1) == own).float().mean()
