"""One step of CASPER's training: a batch in, the loss and its parts out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sciret.training.casper import Casper, Encoded
from sciret.training.losses import Contrast, Distillation, Scores, contrast, distil, flops, own_scores
from sciret.training.processes import gather
from sciret.training.reading import Texts


class Batch(NamedTuple):
    """B triplets with N negatives each; documents are the B positives, then the negatives of each in turn."""

    queries: Texts  # B
    documents: Texts  # B + B·N
    papers: Tensor  # [B + B·N] numbers of the documents, by which the same one is known
    weights: Tensor  # [B]
    teacher: Tensor  # [B, 1 + N] scores of positive and negatives, NaN: none

    def to(self, device: torch.device) -> Batch:
        texts = self.queries.to(device), self.documents.to(device)
        return Batch(*texts, *(part.to(device) for part in (self.papers, self.weights, self.teacher)))


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What is minimised: contrast + distillation + λ (of queries and documents) · FLOPS.

    `CasperTraining` has these fields too, hence no slots: Python takes them from one base.
    """

    contrast: Contrast = "decoupled"
    query_flops: float = 0.05
    document_flops: float = 0.03
    keyphrase_flops: float = 1.0
    """How much the keyphrases' FLOPS count beside the tokens'."""
    distillation: Distillation = "none"
    distillation_weight: float = 1.0
    temperature: float = 1.0


class ContrastiveStep(nn.Module):
    """What DDP wraps: one call is one forward pass of both sides."""

    def __init__(self, casper: Casper, objective: Objective) -> None:
        super().__init__()
        self.casper = casper
        self.objective = objective

    def forward(self, batch: Batch, share: float) -> dict[str, Tensor]:
        """`loss` and its parts over the batches of all processes; `share` of the final λ is in force."""
        queries, documents = self.casper(*batch.queries), self.casper(*batch.documents)
        with torch.autocast(queries.tokens.device.type, enabled=False):
            return self._losses(
                gathered(queries, len(batch.weights)), gathered(documents, len(batch.weights)), batch, share
            )

    def _losses(self, queries: Encoded, documents: Encoded, batch: Batch, share: float) -> dict[str, Tensor]:
        objective, beta, own = self.objective, self.casper.shape.beta, len(batch.weights)
        weights, papers = gather(batch.weights), in_order(batch.papers, own)
        scores = Scores(queries.tokens @ documents.tokens.T, queries.keyphrases @ documents.keyphrases.T)
        parts = {"contrast": contrast(scores, papers, weights, objective.contrast, beta)}
        if objective.distillation != "none":
            student = own_scores(scores.total(beta), batch.teacher.shape[1] - 1)
            parts["distillation"] = objective.distillation_weight * distil(
                student, gather(batch.teacher), objective.distillation, objective.temperature
            )
        held_out = sum(parts.values())
        parts["flops"] = share * (
            objective.query_flops * self._flops(queries) + objective.document_flops * self._flops(documents)
        )
        active = {
            f"{side}_{name}": count
            for side, of in (("query", queries), ("document", documents))
            for name, count in _active(of)
        }
        return {"loss": sum(parts.values()), "held_out": held_out, **parts, **active}  # type: ignore[dict-item]

    def _flops(self, vectors: Encoded) -> Tensor:
        return flops(vectors.tokens) + self.objective.keyphrase_flops * flops(vectors.keyphrases)


def gathered(vectors: Encoded, own: int) -> Encoded:
    return Encoded(*(in_order(part, own) for part in vectors))


def in_order(part: Tensor, own: int) -> Tensor:
    """Rows of all processes: first the `own` of each, then what follows them, as one process would have them."""
    if len(part) == own:
        return gather(part)
    return torch.cat([gather(part[:own]), gather(part[own:])])


def _active(vectors: Encoded) -> list[tuple[str, Tensor]]:
    """How many features a vector has on average."""
    return [(name, (part > 0).sum(dim=1).float().mean()) for name, part in vectors._asdict().items()]
