"""Losses against values computed by hand."""

from __future__ import annotations

import math

import pytest
import torch

from sciret.training.losses import Scores, contrast, distil, flops, own_scores, quadratic, twins

# Two queries, their two positives, and one hard negative each.
TOKENS = torch.tensor([[2.0, 1.0, 1.5, 0.0], [0.5, 3.0, 0.0, 2.0]])
KEYPHRASES = torch.tensor([[4.0, 0.0, 8.0, 0.0], [2.0, 2.0, 0.0, 8.0]])
DOCUMENTS = torch.tensor([10, 11, 12, 13])
EVEN = torch.ones(2)


def surprise(own: float, *others: float) -> float:
    return -math.log(math.exp(own) / (math.exp(own) + sum(map(math.exp, others))))


def test_the_decoupled_loss_shows_hard_negatives_to_tokens_only() -> None:
    """One softmax over all documents for tokens, one over the positives for keyphrases; β has no part in it."""
    tokens = (surprise(2, 1, 1.5, 0) + surprise(3, 0.5, 0, 2)) / 2
    keyphrases = (surprise(4, 0) + surprise(2, 2)) / 2
    for beta in (0.25, 7.0):
        loss = contrast(Scores(TOKENS, KEYPHRASES), DOCUMENTS, EVEN, "decoupled", beta)
        assert float(loss) == pytest.approx(tokens + keyphrases)


def test_the_unified_loss_is_one_softmax_over_the_whole_score() -> None:
    first = surprise(2 + 0.25 * 4, 1, 1.5 + 0.25 * 8, 0)
    second = surprise(3 + 0.25 * 2, 0.5 + 0.25 * 2, 0, 2 + 0.25 * 8)
    loss = contrast(Scores(TOKENS, KEYPHRASES), DOCUMENTS, EVEN, "unified", 0.25)
    assert float(loss) == pytest.approx((first + second) / 2)


def test_rows_count_by_their_weights() -> None:
    loss = contrast(Scores(TOKENS, 0 * KEYPHRASES), DOCUMENTS, torch.tensor([3.0, 1.0]), "unified", 0.25)
    assert float(loss) == pytest.approx((3 * surprise(2, 1, 1.5, 0) + surprise(3, 0.5, 0, 2)) / 4)


def test_a_positive_that_is_there_twice_is_not_its_own_negative() -> None:
    """Both queries are about paper 10, which the second also has as a negative."""
    documents = torch.tensor([10, 10, 12, 10])
    assert twins(documents, 2).tolist() == [[False, True, False, True], [True, False, False, True]]
    loss = contrast(Scores(TOKENS, KEYPHRASES), documents, EVEN, "unified", 0.0)
    assert float(loss) == pytest.approx((surprise(2, 1.5) + surprise(3, 0)) / 2)


def test_flops_is_the_sum_of_squared_means() -> None:
    assert float(flops(torch.tensor([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]]))) == 2**2 + 0 + 1


def test_regularisation_grows_with_the_square_of_the_step() -> None:
    assert [quadratic(step, 10) for step in (0, 5, 10, 20)] == [0.0, 0.25, 1.0, 1.0]
    assert quadratic(0, 0) == 1.0


def test_own_scores_are_those_of_the_positive_and_the_negatives_of_the_query() -> None:
    scores = torch.arange(12).reshape(2, 6)  # two positives, then two negatives of each
    assert own_scores(scores, 2).tolist() == [[0, 2, 3], [7, 10, 11]]


STUDENT = torch.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 0.0]])
TEACHER = torch.tensor([[0.9, 0.7, 0.2], [0.8, 0.6, float("nan")]])


def test_margin_mse_compares_margins_that_the_teacher_knows() -> None:
    """Margins of the student 1, 2 and -2; of the teacher, at a temperature of 0.1, 2, 7 and 2."""
    loss = distil(STUDENT, TEACHER, "margin-mse", 0.1)
    assert float(loss) == pytest.approx(((1 - 2) ** 2 + (2 - 7) ** 2 + (-2 - 2) ** 2) / 3)


def test_kl_compares_distributions_over_what_the_teacher_knows() -> None:
    def divergence(target: list[float], given: list[float]) -> float:
        p, q = torch.tensor(target).double().softmax(0), torch.tensor(given).double().softmax(0)
        return float((p * (p / q).log()).sum())

    expected = (divergence([9, 7, 2], [2, 1, 0]) + divergence([8, 6], [1, 3])) / 2
    assert float(distil(STUDENT, TEACHER, "kl", 0.1)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kind", ["kl", "margin-mse"])
def test_a_teacher_that_says_nothing_teaches_nothing(kind: str) -> None:
    """Loss 0, and gradients that are numbers."""
    student = STUDENT.clone().requires_grad_()
    teacher = torch.tensor([[0.9, float("nan"), float("nan")], [float("nan")] * 3])
    loss = distil(student, teacher, kind, 1.0)  # type: ignore[arg-type]
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == 0
    assert student.grad is not None
    assert not student.grad.any()
