"""Logits at positions become sparse vectors: the weights, the two poolings and the pruning of CASPER."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

Pooling = Literal["max", "sum"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)


def pool(logits: Tensor, positions: Tensor, how: Pooling) -> Tensor:
    """Vectors [B, N] of logits [B, L, N] over the positions [B, L] that count: max or sum of log(1 + relu(logit)).

    The logarithm is monotonic, so the maximum is taken before it: N logarithms instead of L·N, and all that the
    backward pass needs is where the maximum was. The logits are overwritten: they are the largest thing in a step, and
    a copy of them would double it.
    """
    hidden = logits.masked_fill_(~positions[:, :, None], -torch.inf)
    if how == "max":
        return torch.log1p(torch.relu(hidden.max(dim=1).values.float()))
    return torch.log1p(torch.relu_(hidden)).sum(dim=1, dtype=torch.float32)


def prune(vectors: Tensor, mass: float) -> Tensor:
    """The smallest set of largest weights of each row [B, N] that holds `mass` of its sum; the rest becomes zero."""
    ordered, places = vectors.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(dim=-1) - ordered  # what the larger weights hold already
    kept = torch.where(before < mass * ordered.sum(dim=-1, keepdim=True), ordered, 0)
    return torch.zeros_like(vectors).scatter(-1, places, kept)


def limit(tokens: Tensor, keyphrases: Tensor, beta: float, most: int) -> tuple[Tensor, Tensor]:
    """The `most` features of each row with the largest share in a score, where a keyphrase counts β of its weight."""
    shares = torch.cat([tokens, beta * keyphrases], dim=-1)  # [B, V + K]
    if shares.shape[-1] <= most:
        return tokens, keyphrases
    kept = torch.zeros_like(shares, dtype=torch.bool).scatter(-1, shares.topk(most, dim=-1).indices, True)
    of_tokens, of_keyphrases = torch.split(kept, [tokens.shape[-1], keyphrases.shape[-1]], dim=-1)
    return tokens * of_tokens, keyphrases * of_keyphrases
