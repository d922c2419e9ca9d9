"""The anchored head: what export will compute is what training computed, column by column."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch

from sciret.encoders.lexical import K1, B
from sciret.training.anchored import (
    AVERAGE,
    AnchoredHead,
    Highest,
    Occurrences,
    Positions,
    average,
    idf,
    start_phrases,
    start_weights,
    start_words,
)

WORDS, DIMS, PHRASES = 40, 16, 7


@pytest.fixture
def head() -> AnchoredHead:
    """With every part at work: nothing is 0 or 1."""
    torch.manual_seed(0)
    content = torch.ones(WORDS, dtype=torch.bool)
    content[:3] = False
    made = AnchoredHead(torch.randn(WORDS, DIMS), content, PHRASES, hidden=8)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return made


@pytest.mark.parametrize("pooling", ["sum", "max"])
def test_columns_are_those_of_the_whole(head: AnchoredHead, pooling: str) -> None:
    """Two papers of different length: `columns` gives what `forward` gives, without anchor and roots."""
    head.pooling = pooling
    states = torch.randn(2, 9, DIMS)
    ids = torch.randint(3, WORDS, (2, 9))
    content = torch.tensor([[1, 2, 4, 5], [3, 7, -1, -1]])
    tokens, keyphrases = head(states, ids, content)
    chosen = torch.cat([states[0, [1, 2, 4, 5]], states[1, [3, 7]]])
    columns, phrases = torch.tensor([5, 0, 17, 39]), torch.tensor([6, 2])
    found = head.columns(Positions(chosen, torch.tensor([0, 0, 0, 0, 1, 1]), 2), columns, phrases)
    anchor = head.anchor(ids.gather(1, content.clamp(min=0)), content >= 0)
    torch.testing.assert_close(tokens[:, columns], (anchor[:, columns] + found.tokens) * head.token_root()[columns])
    torch.testing.assert_close(keyphrases[:, phrases], found.keyphrases * head.phrase_root()[phrases])
    assert (tokens[:, :3] == 0).all()
    assert tokens.any()
    assert keyphrases.any()


def test_gradients_of_the_maximum_are_those_of_torch() -> None:
    """Also of a paper without positions, which has none."""
    torch.manual_seed(0)
    x, words = torch.randn(7, DIMS, requires_grad=True), torch.randn(5, DIMS)
    owner = torch.tensor([0, 0, 0, 2, 2, 2, 2])
    highest = Highest.apply(x, words, owner, 3)
    torch.relu(highest).square().sum().backward()  # type: ignore[no-untyped-call]
    own, x.grad = x.grad, None
    parts = torch.stack([(x[:3] @ words.T).amax(dim=0), (x[3:] @ words.T).amax(dim=0)])
    torch.relu(parts).square().sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(own, x.grad)
    assert (highest[1] == -torch.inf).all()


def test_padding_weighs_nothing(head: AnchoredHead) -> None:
    states, ids = torch.randn(1, 6, DIMS), torch.randint(3, WORDS, (1, 6))
    short = head(states, ids, torch.tensor([[0, 3, 5]]))
    long = head(states, ids, torch.tensor([[0, 3, 5, -1, -1]]))
    torch.testing.assert_close(long, short)


def test_the_anchor_is_bm25s_saturation(head: AnchoredHead) -> None:
    """A piece that stands twice among four."""
    anchor = head.anchor(torch.tensor([[5, 9, 5, 11]]), torch.tensor([[True, True, True, True]]))
    norm = K1 * (1 - B + B * 4 / AVERAGE)
    assert anchor[0, 5].item() == pytest.approx(2 / (2 + norm))
    assert anchor[0, 9].item() == pytest.approx(1 / (1 + norm))
    assert anchor[0, 10].item() == 0


def test_the_closed_form_finds_the_word_that_was_read() -> None:
    """States that are a rotation of their words' embeddings point back at them."""
    generator = np.random.default_rng(0)
    words = generator.normal(size=(WORDS, DIMS)).astype(np.float32)
    head = AnchoredHead(torch.from_numpy(words), torch.ones(WORDS, dtype=torch.bool), 2, hidden=4)
    pieces = generator.integers(WORDS, size=3_000)
    rotation = np.linalg.qr(generator.normal(size=(DIMS, DIMS)))[0]
    states = (head.words.numpy()[pieces] @ rotation).astype(np.float32)
    assert start_words(head, states, pieces.tolist()) > 0.95


def test_keyphrases_start_active_where_they_stand() -> None:
    """One that was seen, by its states; one that was not, by those of its pieces. Other words leave both alone."""
    generator = np.random.default_rng(0)
    words = generator.normal(size=(WORDS, DIMS)).astype(np.float32)
    head = AnchoredHead(torch.from_numpy(words), torch.ones(WORDS, dtype=torch.bool), 2, hidden=4)
    pieces = generator.integers(WORDS, size=4_000)
    states = head.words.numpy()[pieces]
    start_words(head, states, pieces.tolist())
    seen, unseen = [3, 4], [20, 21]
    sums = np.stack([50 * states[np.isin(pieces, seen)].mean(axis=0), np.zeros(DIMS)]).astype(np.float64)
    start_phrases(head, states, Occurrences(sums, np.array([50, 0]), pieces), [seen, unseen])
    logits = head.read(head.words) @ head.phrases.T + head.phrase_bias  # [V, 2]
    others = torch.ones(WORDS, dtype=torch.bool)
    others[[*seen, *unseen]] = False
    assert (logits[seen, 0] > 0).all()
    assert (logits[unseen, 1] > 0).all()
    assert (logits[others] < 0).float().mean() > 0.9


def test_query_weights_start_at_the_inverse_document_frequency(head: AnchoredHead) -> None:
    values = idf(np.array([1, 10, 100]), 100)
    assert values.tolist() == sorted(values, reverse=True)
    tokens, phrases = np.linspace(0.1, 9, WORDS, dtype=np.float32), np.linspace(1, 3, PHRASES, dtype=np.float32)
    start_weights(head, tokens, phrases)
    torch.testing.assert_close(head.token_root()[3:] ** 2, torch.from_numpy(tokens)[3:])
    torch.testing.assert_close(head.phrase_root() ** 2, torch.from_numpy(phrases))


def test_an_average_lies_between_start_and_end(head: AnchoredHead) -> None:
    """Of everything but the inner layer of the small network, whose outer one began as 0."""
    begun = deepcopy(head)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.add_(1)
    average(head, begun, 0.25)
    torch.testing.assert_close(head.token_bias, begun.token_bias + 0.25)
    torch.testing.assert_close(head.phrases, begun.phrases + 0.25)
    torch.testing.assert_close(head.widen.weight, begun.widen.weight + 1)
