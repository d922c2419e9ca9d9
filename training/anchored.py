"""The anchored head: a sparse retriever on an encoder that stays as it is, so that one pass gives everything.

A paper's weight of a wordpiece has an anchor, the saturated count that BM25 has, and what the head reads between the
words: weight = √w · (count / (count + length norm) + gain · log(1 + relu(max over positions of x·E + b))). A
keyphrase's is √v · gain · max (or Σ) over positions of log(1 + relu(x·R + c)). w and v start at the inverse document
frequency and are learned; the root is on both sides, so that a paper can be a query too. A query is read like a paper,
and its own words count once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from sciret.encoded import Vector
from sciret.encoders.lexical import K1, B

SCALE = 8.0
"""Length of a state: one that points at its wordpiece has a logit of nearly 8."""
RIDGE = 1e-2
BIAS = -2.0
GAIN = 0.3
AVERAGE = 110.0
"""Content pieces of an average abstract: a constant like BM25's others, since a paper must not weigh otherwise because
of its neighbours."""


PRESENT = 3.0
"""Logit of a keyphrase where it stands, before training."""
BELIEF = 3.0
"""Occurrences of a keyphrase that what its pieces look like counts for."""


@dataclass(frozen=True, slots=True, eq=False)
class Occurrences:
    """Where keyphrases stand in training papers."""

    sums: npt.NDArray[np.float64]  # [K, d] of the states at the pieces of each keyphrase
    counts: npt.NDArray[np.int64]  # [K] how many pieces
    sample: npt.NDArray[np.int64]  # [P] pieces at the positions drawn by chance


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
    def __init__(self, words: Tensor, content: Tensor, keyphrases: int, hidden: int = 512, pooling: str = "max"):
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
        # `shape`: an export takes `len` for a constant, and refuses a batch of one size.
        zeros = torch.zeros(pieces.shape[0], len(self.words), device=pieces.device)
        counts = zeros.scatter_add(1, pieces, real.to(zeros.dtype))
        return saturated(counts, real.sum(dim=1, keepdim=True))

    def columns(self, positions: Positions, tokens: Tensor, phrases: Tensor) -> Sparse:
        """What `forward` gives of these columns only, without anchor and roots: training looks at few."""
        x = self.read(positions.states)
        highest = Highest.apply(x, self.words[tokens], positions.owner, positions.papers)
        return Sparse(
            self.token_gain * torch.log1p(functional.relu(highest + self.token_bias[tokens])),
            self.phrase_gain * self._phrases(x, positions, phrases),
        )

    def _phrases(self, x: Tensor, positions: Positions, phrases: Tensor) -> Tensor:
        rows, bias = self.phrases[phrases], self.phrase_bias[phrases]
        if self.pooling == "sum":
            return pool(torch.log1p(functional.relu(x @ rows.T + bias)), positions)
        highest: Tensor = Highest.apply(x, rows, positions.owner, positions.papers)
        return torch.log1p(functional.relu(highest + bias))

    def whole(self, positions: Positions, counts: Tensor) -> Sparse:
        """All columns, of few texts with counts [D, V]: what `forward` gives."""
        every, phrases = (torch.arange(n, device=counts.device) for n in (len(self.words), len(self.phrases)))
        found = self.columns(positions, every, phrases)
        tokens = (saturated(counts, counts.sum(dim=1, keepdim=True)) + found.tokens.clamp(min=0)) * self.token_root()
        return Sparse(tokens, found.keyphrases * self.phrase_root())

    def token_root(self) -> Tensor:
        """√w [V]; 0 for what is no feature."""
        return functional.softplus(self.token_weight).sqrt() * self.content

    def phrase_root(self) -> Tensor:
        return functional.softplus(self.phrase_weight).sqrt()


class Highest(torch.autograd.Function):
    """Max over each paper's positions of x·E: [P, d] and [T, d] to [D, T].

    A cell's gradient goes to one position, so the backward pass is the product of a very sparse matrix. torch's own
    would keep all logits and compare each with its maximum, which takes longer than the rest of a step.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, words: Tensor, owner: Tensor, papers: int) -> Tensor:
        counts = torch.bincount(owner, minlength=papers).tolist()
        highest = x.new_full((papers, len(words)), -torch.inf)
        places = torch.zeros(papers, len(words), dtype=torch.int64, device=x.device)
        first = 0
        for paper, each in enumerate(torch.split(x @ words.T, counts)):
            if len(each):
                highest[paper], places[paper] = each.max(dim=0)
                places[paper] += first
            first += len(each)
        ctx.save_for_backward(places, x, words)
        return highest

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        places, x, words = ctx.saved_tensors
        rows, columns = gradients[0].nonzero(as_tuple=True)
        at, values = places[rows, columns], gradients[0][rows, columns]

        def product(first: Tensor, second: Tensor, size: int, matrix: Tensor) -> Tensor:
            cells = torch.stack([first, second])
            sparse = torch.sparse_coo_tensor(cells, values, (size, len(matrix)), check_invariants=False)
            found: Tensor = torch.sparse.mm(sparse, matrix)
            return found

        of_words = product(columns, at, len(words), x) if ctx.needs_input_grad[1] else None
        return product(at, columns, len(x), words), of_words, None, None


def saturated(counts: Tensor, length: Tensor) -> Tensor:
    """BM25's share of a count [B, V] in a text of so many pieces [B, 1]."""
    return counts / (counts + K1 * (1 - B + B * length / AVERAGE))


def pool(values: Tensor, positions: Positions) -> Tensor:
    """Positions' values [P, C] to papers' sums [D, C]."""
    return values.new_zeros(positions.papers, values.shape[1]).index_add(0, positions.owner, values)


@torch.no_grad()
def start_words(head: AnchoredHead, states: Vector, pieces: Sequence[int]) -> float:
    """In closed form: ridge regression from states [P, d] to the normalised embeddings of their pieces [P].

    Returns the share of positions that then point at their own piece.
    """
    x = np.concatenate([states, np.ones((len(states), 1), np.float32)], axis=1).astype(np.float64)  # [P, d + 1]
    words = head.words.cpu().numpy()
    squares = x.T @ x
    ridge = RIDGE * np.trace(squares) / len(squares) * np.eye(len(squares))
    solution = np.linalg.solve(squares + ridge, x.T @ words[list(pieces)])  # [d + 1, d]
    head.transform.weight.copy_(torch.from_numpy(SCALE * solution[:-1].T))
    head.transform.bias.copy_(torch.from_numpy(SCALE * solution[-1]))
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
def start_phrases(
    head: AnchoredHead, states: Vector, occurrences: Occurrences, pieces: Sequence[Sequence[int]]
) -> None:
    """In closed form too: each keyphrase's row tells the positions where it stands from all others (LDA).

    states: [P, d] of positions drawn by chance. A keyphrase that stands in few places, or none, is believed to look
    like its pieces. Halfway from an average position to the keyphrase's own mean the logit is 0.
    """
    x = head.read(torch.from_numpy(states)).double()  # [P, d]
    mean = x.mean(dim=0)
    covariance = torch.cov(x.T)
    covariance += RIDGE * covariance.trace() / len(covariance) * torch.eye(len(covariance), dtype=torch.float64)
    length = (x * head.words[occurrences.sample]).sum(dim=1).mean()  # of a state towards its own piece
    believed = torch.stack([length * head.words[list(read)].double().mean(dim=0) for read in pieces])  # [K, d]
    counts = torch.from_numpy(occurrences.counts)[:, None]  # [K, 1]
    seen = torch.from_numpy(occurrences.sums / np.maximum(occurrences.counts, 1)[:, None])
    seen = head.read(seen.float()).double()
    own = (counts * seen + BELIEF * believed) / (counts + BELIEF) - mean  # [K, d]
    towards = torch.linalg.solve(covariance, own.T).T
    rows = 2 * PRESENT * towards / (towards * own).sum(dim=1, keepdim=True)
    head.phrases.copy_(rows)
    head.phrase_bias.copy_(-(rows @ mean) - PRESENT)


@torch.no_grad()
def average(head: AnchoredHead, begun: AnchoredHead, share: float) -> None:
    """Let the head be so much of what it is now, and for the rest what it began as (Wortsman et al., WiSE-FT, 2022).

    What is learned from some fields is kept, and what the closed form knows of all is not forgotten. The small network
    began as 0, so only what it gives is scaled.
    """
    first = dict(begun.named_parameters())
    for name, parameter in head.named_parameters():
        if not name.startswith("widen"):
            parameter.lerp_(first[name], 1 - share)
