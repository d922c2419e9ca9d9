"""The linear chain learns what follows what, not only what stands where."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import torch

from sciret.training.chain import _score, _total, fit_chain


def test_total_is_the_sum_over_all_sequences() -> None:
    """Against enumeration, with a shorter sequence padded beside a longer one."""
    torch.manual_seed(0)
    fit, transitions = torch.randn(2, 4, 3), torch.randn(3, 3)
    real = torch.tensor([[True] * 4, [True, True, False, False]])
    for row, length in ((0, 4), (1, 2)):
        scores = [
            sum(fit[row, place, label] for place, label in enumerate(path))
            + sum(transitions[a, b] for a, b in pairwise(path))
            for path in product(range(3), repeat=length)
        ]
        expected = torch.logsumexp(torch.stack([torch.as_tensor(score) for score in scores]), dim=0)
        assert torch.allclose(_total(fit, transitions, real)[row], expected, atol=1e-5)


def test_score_counts_real_elements_and_steps_only() -> None:
    fit, transitions = torch.ones(1, 3, 2), torch.full((2, 2), 10.0)
    y = torch.tensor([[0, 1, 1]])
    assert _score(fit, transitions, y, torch.tensor([[True, True, False]])).item() == 12


def test_fit_learns_transitions_where_elements_say_nothing() -> None:
    """Labels alternate and features are constant: only the step from one to the next can tell."""
    labels = [np.array([start, 1 - start] * 3) for start in (0, 1)] * 10
    sequences = [np.ones((6, 1), dtype=np.float32)] * 20
    _, _, transitions = fit_chain(sequences, labels, classes=2, penalty=1e-3)
    assert transitions[0, 1] > transitions[0, 0] + 1
    assert transitions[1, 0] > transitions[1, 1] + 1


def test_fit_learns_what_features_say_and_the_penalty_restrains_it() -> None:
    chance = np.random.default_rng(0)
    sequences = [chance.normal(size=(5, 2)).astype(np.float32) for _ in range(40)]
    labels = [(sequence[:, 0] > 0).astype(np.int64) for sequence in sequences]
    free, _, _ = fit_chain(sequences, labels, classes=2, penalty=1e-4)
    held, _, _ = fit_chain(sequences, labels, classes=2, penalty=1.0)
    assert free[0, 1] - free[0, 0] > 3, "the first feature decides"
    assert abs(free[1, 1] - free[1, 0]) < 1, "the second says nothing"
    assert np.abs(held).max() < np.abs(free).max() / 5
