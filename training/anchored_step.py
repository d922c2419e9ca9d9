"""What the anchored head is trained by: contrast of tokens, of keyphrases and of the whole score beside the encoder's
own, agreement with a teacher, and sparsity.

Only the columns that the queries of a batch speak of are computed, and some by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn

from sciret.errors import SettingsError
from sciret.training.anchored import AnchoredHead, Positions, Sparse, saturated
from sciret.training.losses import Contrast, flops, surprise, twins

FUSION_SHARPNESS = 40.0
"""Scores of λ fusion lie within some tenths of each other."""
OWN_WORDS = 1.0
"""What a query's words count beside what is read of it: `query_tokens` of the bundle is `both`."""

WEIGHTS = ("fused_weight", "phrase_contrast", "label_weight", "distillation_weight", "token_flops", "keyphrase_flops")
"""Of the parts of the loss."""


@dataclass(frozen=True, slots=True, eq=False)
class AnchoredBatch:
    """B queries with D papers: the B positives in their order, then as many hard negatives of each."""

    queries: Positions
    positions: Positions  # of the D papers
    papers: Tensor  # [D] numbers, by which the same one is known
    query_counts: Tensor  # [B, V] how often each query has each piece
    counts: Tensor  # [D, V]
    tokens: Tensor  # [T] pieces drawn by chance
    phrases: Tensor  # [Q] keyphrases that some query names, and others drawn by chance
    named: Tensor  # [B, Q] whether the query names the keyphrase, for queries that say what the paper is about
    dense: Tensor  # [B, D] the encoder's own cosines
    teacher: Tensor  # [B, D]
    weights: Tensor  # [B]

    def to(self, device: torch.device) -> AnchoredBatch:
        return AnchoredBatch(**{f.name: getattr(self, f.name).to(device) for f in fields(self)})


@dataclass(frozen=True, kw_only=True)
class AnchoredObjective:
    """What is minimised. `AnchoredTraining` has these fields too, hence no slots: Python takes them from one base."""

    beta: float = 1.5
    contrast: Contrast = "decoupled"
    lambda_: float = 0.65
    fused_weight: float = 1.0
    phrase_contrast: float = 0.5
    label_weight: float = 0.25
    distillation_weight: float = 0.5
    token_flops: float = 1e-2
    keyphrase_flops: float = 1e-2
    expansion_columns: int = 1_024
    """Features that weigh most in the queries of a batch, for which papers are read; and those drawn by chance."""

    def __post_init__(self) -> None:
        for name in ("beta", *WEIGHTS):
            if not getattr(self, name) >= 0:  # NaN neither
                raise SettingsError(f"{name} is {getattr(self, name)}; it is not negative")
        if not 0 <= self.lambda_ <= 1:
            raise SettingsError(f"lambda_ is {self.lambda_}; it lies in 0..1")
        if self.expansion_columns < 1:
            raise SettingsError(f"expansion_columns is {self.expansion_columns}; it is at least 1")


class AnchoredStep(nn.Module):
    def __init__(self, head: AnchoredHead, objective: AnchoredObjective) -> None:
        super().__init__()
        self.head = head
        self.objective = objective
        self.sharpness = nn.Parameter(torch.tensor(3.0))
        self.phrase_sharpness = nn.Parameter(torch.tensor(1.5))

    def forward(self, batch: AnchoredBatch, share: float) -> dict[str, Tensor]:
        """`loss` and its parts; `share` of the final sparsity is in force."""
        objective, own = self.objective, len(batch.weights)
        tokens, phrases = self._columns(batch)
        queries, papers = self._encoded(batch, tokens, phrases)
        by_tokens, by_phrases = queries.tokens @ papers.tokens.T, queries.keyphrases @ papers.keyphrases.T  # [B, D]
        token_norm = queries.tokens.square().sum(dim=1, keepdim=True) + 1e-6
        phrase_norm = queries.keyphrases.square().sum(dim=1, keepdim=True) + 1e-6
        total = (by_tokens + objective.beta * by_phrases) / (token_norm + objective.beta * phrase_norm)
        fused = objective.lambda_ * batch.dense + (1 - objective.lambda_) * total
        others, sharp = twins(batch.papers, own), self.sharpness.exp()
        parts: dict[str, Tensor] = {}
        if objective.contrast == "unified":
            parts["contrast"] = surprise(total * sharp, others, batch.weights)
        else:
            parts["contrast"] = surprise(by_tokens / token_norm * sharp, others, batch.weights)
            concepts = (by_phrases / phrase_norm)[:, :own] * self.phrase_sharpness.exp()
            parts["phrases"] = objective.phrase_contrast * surprise(concepts, others[:, :own], batch.weights)
        parts["fused"] = objective.fused_weight * surprise(fused * FUSION_SHARPNESS, others, batch.weights)
        parts["distillation"] = objective.distillation_weight * self._disagreement(total * sharp, batch, others)
        held_out = sum(parts.values())
        parts["labels"] = objective.label_weight * self._labels(papers.keyphrases[:own, : batch.named.shape[1]], batch)
        sparsity, active = self._sparsity(batch, papers, share)
        parts |= sparsity
        with torch.no_grad():
            seen = {
                **active,
                "found": _first(total, others),
                "found_fused": _first(fused, others),
                "found_dense": _first(batch.dense, others),
                "found_teacher": _first(batch.teacher, others),
            }
        return {"loss": sum(parts.values()), "held_out": held_out, **parts, **seen}  # type: ignore[dict-item]

    @torch.no_grad()
    def _columns(self, batch: AnchoredBatch) -> tuple[Tensor, Tensor]:
        """Those drawn by chance first, then those that weigh most in the queries, which is where scores come from."""
        whole = self.head.whole(batch.queries, batch.query_counts)
        found = []
        for weights, first in ((whole.tokens, batch.tokens), (whole.keyphrases, batch.phrases)):
            mass = weights.sum(dim=0).index_fill(0, first, 0)
            best = mass.topk(min(self.objective.expansion_columns, len(mass)))
            found.append(torch.cat([first, best.indices[best.values > 0]]))
        return found[0], found[1]

    def _encoded(self, batch: AnchoredBatch, tokens: Tensor, phrases: Tensor) -> tuple[Sparse, Sparse]:
        """Queries and papers as they are searched and indexed, of these columns. A query's own words count more."""
        head = self.head
        root, phrase_root = head.token_root()[tokens], head.phrase_root()[phrases]
        both = []
        sides = (batch.queries, batch.query_counts, OWN_WORDS), (batch.positions, batch.counts, 0.0)
        for positions, counts, more in sides:
            read = head.columns(positions, tokens, phrases)
            anchor = saturated(counts, counts.sum(dim=1, keepdim=True))[:, tokens] + more * counts[:, tokens]
            both.append(Sparse((anchor + read.tokens.clamp(min=0)) * root, read.keyphrases * phrase_root))
        return both[0], both[1]

    def _disagreement(self, student: Tensor, batch: AnchoredBatch, others: Tensor) -> Tensor:
        """KL divergence from the teacher's softmax over all papers of the batch."""
        nothing = -1e4
        target = torch.log_softmax((batch.teacher * FUSION_SHARPNESS).masked_fill(others, nothing), dim=1)
        given = torch.log_softmax(student.masked_fill(others, nothing), dim=1)
        return ((target.exp() * (target - given)).sum(dim=1) * batch.weights).sum() / batch.weights.sum()

    def _labels(self, weights: Tensor, batch: AnchoredBatch) -> Tensor:
        """How surprising the keyphrases that queries name are among those of their papers, weights [B, Q]."""
        chances = torch.log_softmax(weights * self.phrase_sharpness.exp(), dim=1)
        return -(chances * batch.named).sum() / batch.named.sum().clamp(min=1)

    def _sparsity(
        self, batch: AnchoredBatch, papers: Sparse, share: float
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """FLOPS over the whole vocabulary, estimated by the columns drawn by chance; and how many a paper has."""
        head, objective = self.head, self.objective
        named = batch.named.any(dim=0)
        tokens, phrases = papers.tokens[:, : len(batch.tokens)], papers.keyphrases[:, : len(batch.phrases)][:, ~named]
        scale, phrase_scale = head.content.sum() / len(batch.tokens), len(head.phrases) / max(1, phrases.shape[1])
        losses = {
            "flops": share * objective.token_flops * scale * flops(tokens),
            "phrase_flops": share * objective.keyphrase_flops * phrase_scale * flops(phrases),
        }
        active = {
            "tokens_active": (tokens.detach() > 0).float().mean() * head.content.sum(),
            "keyphrases_active": (phrases.detach() > 0).float().mean() * len(head.phrases),
        }
        return losses, active


def _first(scores: Tensor, others: Tensor) -> Tensor:
    """Share of queries whose positive comes first."""
    own = torch.arange(len(scores), device=scores.device)
    return (scores.masked_fill(others, -torch.inf).argmax(dim=1) == own).float().mean()
