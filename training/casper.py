"""CASPER: a masked language model that gives one weight to every wordpiece and one to every keyphrase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sciret.errors import SettingsError
from sciret.training.backbone import Backbone
from sciret.training.sparsity import POOLINGS, Pooling, limit, pool, prune


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What of CASPER is chosen, not learned; casper.json holds it. No slots, for the reason that Objective has none."""

    beta: float = 0.25
    """Share of the keyphrases in a score."""
    token_pooling: Pooling = "max"  # noqa: S105 (no password)
    keyphrase_pooling: Pooling = "sum"
    mass: float = 0.8
    """Of a vector's weights, the largest that hold this share are kept; of tokens and keyphrases each."""
    query_features: int = 256
    query_length: int = 64
    document_length: int = 256

    def __post_init__(self) -> None:
        if self.token_pooling not in POOLINGS or self.keyphrase_pooling not in POOLINGS:
            raise SettingsError(f"pooling is one of {', '.join(POOLINGS)}")
        if not 0 < self.mass <= 1 or self.beta < 0:
            raise SettingsError(f"mass {self.mass} lies above 0 and at most at 1, beta {self.beta} is not negative")
        if min(self.query_features, self.query_length - 2, self.document_length - 3) < 1:
            raise SettingsError("query features, query length and document length leave no room for a word")


class Encoded(NamedTuple):
    """Texts as sparse vectors, held densely."""

    tokens: Tensor  # [B, V]
    keyphrases: Tensor  # [B, K]


class Casper(nn.Module):
    """Backbone, token decoder (the backbone's own) and one more decoder row for each keyphrase."""

    def __init__(self, backbone: Backbone, keyphrases: int, special: Sequence[int], shape: Shape, chunk: int = 0):
        super().__init__()
        self.backbone = backbone
        self.shape = shape
        self.chunk = chunk
        """Texts decoded at once; the logits of the others are computed again in the backward pass. 0: all at once."""
        self.keyphrases = nn.Linear(backbone.decoder.in_features, keyphrases)  # [K, d]
        self.special: Tensor
        self.register_buffer("special", torch.tensor(sorted(special), dtype=torch.int64), persistent=False)

    def forward(self, ids: Tensor, mask: Tensor) -> Encoded:
        """Vectors of texts [B, L], not pruned: special tokens neither weigh as positions nor are features."""
        states = self.backbone(ids, mask)
        positions = mask.bool() & ~torch.isin(ids, self.special)
        if not self.chunk or len(ids) <= self.chunk:
            return Encoded(*self.pooled(states, positions))
        parts = [
            checkpoint(self.pooled, *part, use_reentrant=False)
            for part in zip(torch.split(states, self.chunk), torch.split(positions, self.chunk), strict=True)
        ]
        return Encoded(*(torch.cat(each) for each in zip(*parts, strict=True)))

    def pooled(self, states: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors [B, V] and [B, K] of states [B, L, d]."""
        tokens = pool(self.backbone.decoder(states), positions, self.shape.token_pooling)
        keyphrases = pool(self.keyphrases(states), positions, self.shape.keyphrase_pooling)
        return tokens.index_fill(1, self.special, 0), keyphrases

    def logits(self, states: Tensor) -> Tensor:
        """Of wordpieces and keyphrases together [..., V + K], for pretraining."""
        return torch.cat([self.backbone.decoder(states), self.keyphrases(states)], dim=-1)

    @torch.no_grad()
    def encode_papers(self, ids: Tensor, mask: Tensor) -> Encoded:
        """As a paper is indexed: each part pruned to its mass."""
        return Encoded(*(prune(part, self.shape.mass) for part in self(ids, mask)))

    @torch.no_grad()
    def encode_queries(self, ids: Tensor, mask: Tensor) -> Encoded:
        """Pruned as papers are, and then to the features with the largest shares."""
        tokens, keyphrases = self.encode_papers(ids, mask)
        return Encoded(*limit(tokens, keyphrases, self.shape.beta, self.shape.query_features))


@torch.no_grad()
def start_rows(casper: Casper, keyphrases: Sequence[str], tokenizer: Tokenizer, bias: float) -> None:
    """Each keyphrase's row is the mean of its wordpieces' rows, its bias the mean of theirs plus a negative one.

    Random rows explode under sum pooling: thousands of keyphrases would weigh a little at every position.
    """
    decoder = casper.backbone.decoder
    for number, phrase in enumerate(keyphrases):
        pieces = torch.tensor(tokenizer.encode(phrase, add_special_tokens=False).ids, device=decoder.weight.device)
        if not len(pieces):
            raise SettingsError(f"keyphrase {number + 1}, {phrase!r}, has nothing that the tokenizer reads; remove it")
        casper.keyphrases.weight[number] = decoder.weight[pieces].mean(dim=0)
        casper.keyphrases.bias[number] = decoder.bias[pieces].mean() + bias


@torch.no_grad()
def level_rows(casper: Casper, ids: Tensor, mask: Tensor, active: int) -> float:
    """Shift all keyphrases' biases until texts [B, L] have `active` of them on average; by how much it was.

    How large logits are is a matter of the backbone, so no fixed bias does for all of them. With too many the sums
    explode; with too few most keyphrases are never active, so they have no gradient and never will be.
    """
    if active >= len(casper.keyphrases.bias):
        return 0.0
    states, positions = casper.backbone(ids, mask), mask.bool() & ~torch.isin(ids, casper.special)
    highest = torch.stack(
        [casper.keyphrases(each)[at].max(dim=0).values for each, at in zip(states, positions, strict=True) if at.any()]
    )  # [B, K]
    ordered = highest.flatten().sort(descending=True).values
    shift = -float(ordered[active * len(highest) - 1 :][:2].mean())  # between the last wanted and the next
    casper.keyphrases.bias.add_(shift)
    return shift
