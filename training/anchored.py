"""The anchored head: a sparse retriever on an encoder that stays as it is, so that one pass gives everything.

A paper's weight of a wordpiece has an anchor, the saturated count that BM25 has, and what the head reads between the
words: weight = √w · (count / (count + length norm) + gain · log(1 + relu(max over positions of x·E + b))). A
keyphrase's is √v · gain · Σ over positions of log(1 + relu(x·R + c)). A query is not read by a network at all: its
wordpieces and the keyphrases found in it weigh √w and √v, learned, and started at the inverse document frequency.
The root is on both sides, so that a paper can be a query too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from sciret.encoded import Vector
from sciret.errors import SettingsError

SCALE = 8.0
"""Length of a state: one that points at its wordpiece has a logit of nearly 8."""
RIDGE = 1e-2
BIAS = -2.0
GAIN = 0.3
K1, B, AVERAGE = 1.2, 0.75, 110.0
"""BM25's constants, and the content pieces of an average abstract: a constant too, since a paper must not weigh
otherwise because of its neighbours."""


class Sparse(NamedTuple):
    """Weights of some columns for some papers, without the roots."""

    tokens: Tensor  # [D, T] what the head reads, without the anchor
    keyphrases: Tensor  # [D, Q]


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """Content positions of D papers, one after the other."""

    states: Tensor  # [P, d]
    owner: Tensor  # [P] number of the paper
    papers: int

    def to(self, device: torch.device) -> Positions:
        return Positions(self.states.to(device), self.owner.to(device), self.papers)


class AnchoredHead(nn.Module):
    def __init__(self, words: Tensor, content: Tensor, keyphrases: int, hidden: int = 768, pooling: str = "sum"):
        super().__init__()
        size, dims = words.shape
        self.pooling = pooling
        self.words: Tensor
        self.content: Tensor
        self.register_buffer("words", functional.normalize(words, dim=1))  # [V, d]
        self.register_buffer("content", content)  # [V] bool
        self.transform = nn.Linear(dims, dims)
        self.widen = nn.Linear(dims, hidden)
        self.narrow = nn.Linear(hidden, dims)
        nn.init.zeros_(self.narrow.weight)
        nn.init.zeros_(self.narrow.bias)
        self.token_bias = nn.Parameter(torch.full((size,), BIAS))
        self.token_weight = nn.Parameter(torch.zeros(size))  # of the softplus
        self.token_gain = nn.Parameter(torch.tensor(GAIN))
        self.phrases = nn.Parameter(torch.zeros(keyphrases, dims))  # [K, d]
        self.phrase_bias = nn.Parameter(torch.full((keyphrases,), BIAS))
        self.phrase_weight = nn.Parameter(torch.zeros(keyphrases))
        self.phrase_gain = nn.Parameter(torch.tensor(GAIN))

    def forward(self, states: Tensor, input_ids: Tensor, content: Tensor) -> tuple[Tensor, Tensor]:
        """Weights [B, V] and [B, K] of papers, from states [B, L, d]; `content` [B, P] are positions, -1 is none."""
        real = content >= 0  # [B, P]
        at = content.clamp(min=0)
        x = self.read(states.gather(1, at[..., None].expand(-1, -1, states.shape[-1])))  # [B, P, d]
        highest = (x @ self.words.T).masked_fill(~real[..., None], -torch.inf).amax(dim=1)  # [B, V]
        expansion = self.token_gain * torch.log1p(functional.relu(highest + self.token_bias))
        tokens = (self.anchor(input_ids.gather(1, at), real) + expansion) * self.token_root()
        phrases = torch.log1p(functional.relu(x @ self.phrases.T + self.phrase_bias)) * real[..., None]
        pooled = phrases.sum(dim=1) if self.pooling == "sum" else phrases.amax(dim=1)
        return tokens, self.phrase_gain * pooled * self.phrase_root()

    def read(self, states: Tensor) -> Tensor:
        """From hidden states to what the decoders' rows are compared with."""
        return self.transform(states) + self.narrow(functional.gelu(self.widen(states)))  # type: ignore[no-any-return]

    def anchor(self, pieces: Tensor, real: Tensor) -> Tensor:
        """Saturated counts [B, V] of pieces [B, P]."""
        zeros = torch.zeros(len(pieces), len(self.words), device=pieces.device)
        counts = zeros.scatter_add(1, pieces, real.to(zeros.dtype))
        norm = K1 * (1 - B + B * real.sum(dim=1, keepdim=True) / AVERAGE)  # [B, 1]
        return counts / (counts + norm)

    def columns(self, positions: Positions, tokens: Tensor, phrases: Tensor) -> Sparse:
        """What `forward` gives of these columns only, without anchor and roots: training looks at few."""
        x = self.read(positions.states)
        highest = pool(x @ self.words[tokens].T, positions, "amax", -torch.inf)
        found = torch.log1p(functional.relu(x @ self.phrases[phrases].T + self.phrase_bias[phrases]))
        return Sparse(
            self.token_gain * torch.log1p(functional.relu(highest + self.token_bias[tokens])),
            self.phrase_gain * pool(found, positions, "sum" if self.pooling == "sum" else "amax", 0.0),
        )

    def token_root(self) -> Tensor:
        """√w [V]; 0 for what is no feature."""
        return functional.softplus(self.token_weight).sqrt() * self.content

    def phrase_root(self) -> Tensor:
        return functional.softplus(self.phrase_weight).sqrt()


def pool(values: Tensor, positions: Positions, reduction: str, start: float) -> Tensor:
    """Positions' values [P, C] to papers' [D, C]."""
    empty = values.new_full((positions.papers, values.shape[1]), start)
    if reduction == "sum":
        return empty.index_add(0, positions.owner, values)
    return empty.scatter_reduce(0, positions.owner[:, None].expand_as(values), values, reduction)


@torch.no_grad()
def start(
    head: AnchoredHead, states: Vector, pieces: Sequence[int], keyphrases: Sequence[str], tokenizer: Tokenizer
) -> float:
    """In closed form: ridge regression from states [P, d] to the normalised embeddings of their pieces [P], and each
    keyphrase the mean of its pieces' rows. Returns the share of positions that then point at their own piece."""
    x = np.concatenate([states, np.ones((len(states), 1), np.float32)], axis=1).astype(np.float64)  # [P, d + 1]
    words = head.words.cpu().numpy()
    squares = x.T @ x
    ridge = RIDGE * np.trace(squares) / len(squares) * np.eye(len(squares))
    solution = np.linalg.solve(squares + ridge, x.T @ words[list(pieces)])  # [d + 1, d]
    head.transform.weight.copy_(torch.from_numpy(SCALE * solution[:-1].T))
    head.transform.bias.copy_(torch.from_numpy(SCALE * solution[-1]))
    for number, phrase in enumerate(keyphrases):
        read = tokenizer.encode(phrase, add_special_tokens=False).ids
        if not read:
            raise SettingsError(f"keyphrase {number + 1}, {phrase!r}, has nothing that the tokenizer reads; remove it")
        head.phrases[number] = functional.normalize(head.words[read].mean(dim=0), dim=0)
    sample = slice(0, 2_000)
    found = (x[sample] @ solution) @ words.T
    return float((found.argmax(axis=1) == np.array(pieces)[sample]).mean())


@torch.no_grad()
def start_weights(head: AnchoredHead, tokens: Vector, phrases: Vector) -> None:
    """Query weights from inverse document frequencies [V] and [K]."""
    for parameter, values in ((head.token_weight, tokens), (head.phrase_weight, phrases)):
        wanted = torch.from_numpy(values.astype(np.float32)).clamp(min=0.05)
        parameter.copy_(torch.log(torch.expm1(wanted)))


def idf(frequencies: npt.NDArray[np.int64], count: int) -> Vector:
    """Lucene's, of frequencies among so many texts."""
    return np.log1p((count - frequencies + 0.5) / (frequencies + 0.5)).astype(np.float32)


@torch.no_grad()
def level_phrases(head: AnchoredHead, positions: Positions, active: int) -> float:
    """Shift all keyphrases' biases until papers have `active` of them on average; by how much it was."""
    x = head.read(positions.states)
    highest = pool(x @ head.phrases.T + head.phrase_bias, positions, "amax", -torch.inf)  # [D, K]
    ordered = highest.flatten().sort(descending=True).values
    shift = -float(ordered[min(active * positions.papers, len(ordered) - 1)])
    head.phrase_bias.add_(shift)
    return shift
