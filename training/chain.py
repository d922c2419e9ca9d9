"""A linear chain fitted to labelled sequences: torch gives the gradient, L-BFGS the minimum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sciret.encoded import Vector

Labels: TypeAlias = npt.NDArray[np.int64]
ITERATIONS = 60


def fit_chain(
    sequences: Sequence[Vector], labels: Sequence[Labels], classes: int, penalty: float
) -> tuple[Vector, Vector, Vector]:
    """Weights [F, C], bias [C] and transitions [C, C] of the likeliest chain for sequences of features [S, F].

    The penalty is on the squares of weights and transitions, relative to the mean loss of one element. Convex and
    deterministic: no seed, no learning rate.
    """
    x, y, real = _padded(sequences, labels)
    weights, bias, transitions = (
        torch.zeros(shape, requires_grad=True) for shape in ((x.shape[2], classes), (classes,), (classes, classes))
    )
    optimizer = torch.optim.LBFGS([weights, bias, transitions], max_iter=ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        fit = x @ weights + bias  # [N, S, C]
        surprise = (_total(fit, transitions, real) - _score(fit, transitions, y, real)).sum() / real.sum()
        value: Tensor = surprise + penalty * ((weights**2).sum() + (transitions**2).sum())
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return weights.detach().numpy(), bias.detach().numpy(), transitions.detach().numpy()


def _score(fit: Tensor, transitions: Tensor, y: Tensor, real: Tensor) -> Tensor:
    """Log score [N] of the given labels [N, S]."""
    elements = fit.gather(2, y[:, :, None])[:, :, 0]  # [N, S]
    steps = transitions[y[:, :-1], y[:, 1:]]  # [N, S - 1]
    return (elements * real).sum(dim=1) + (steps * real[:, 1:]).sum(dim=1)


def _total(fit: Tensor, transitions: Tensor, real: Tensor) -> Tensor:
    """Log of the summed scores [N] of all label sequences: the forward algorithm."""
    alpha = fit[:, 0]  # [N, C]
    for step in range(1, fit.shape[1]):
        onward = torch.logsumexp(alpha[:, :, None] + transitions, dim=1) + fit[:, step]
        alpha = torch.where(real[:, step, None], onward, alpha)
    return torch.logsumexp(alpha, dim=1)


def _padded(sequences: Sequence[Vector], labels: Sequence[Labels]) -> tuple[Tensor, Tensor, Tensor]:
    """Features [N, S, F], labels [N, S] and which of them are real [N, S]."""
    longest = max(map(len, labels))
    x = torch.zeros(len(sequences), longest, sequences[0].shape[1])
    y = torch.zeros(len(sequences), longest, dtype=torch.int64)
    real = torch.zeros(len(sequences), longest, dtype=torch.bool)
    for row, (sequence, given) in enumerate(zip(sequences, labels, strict=True)):
        x[row, : len(given)] = torch.from_numpy(sequence)
        y[row, : len(given)] = torch.from_numpy(given)
        real[row, : len(given)] = True
    return x, y, real
