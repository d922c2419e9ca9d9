"""What is hidden, what is asked for, and how guesses are judged."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from sciret.encoders.phrases import PhraseMatcher
from sciret.training.backbone import plain
from sciret.training.casper import Casper, Shape
from sciret.training.masked import MaskedBatch, MaskedStep
from sciret.training.masking import NOTHING, Occurrence, Shares, hide, occurrences
from sciret.training.reading import Texts

from .conftest import tiny_tokenizer

MATCHER = PhraseMatcher(["neural network", "deep neural network", "coral reef", "reef", "zebrafish"])
MASK = 4
ALL = Shares(phrases=1.0, visible=0.0, words=0.0)


def found(title: str, abstract: str = "", length: int = 64) -> list[tuple[str, list[str]]]:
    """Phrases with the wordpieces that they were found at."""
    tokenizer = plain(tiny_tokenizer())
    tokenizer.enable_truncation(length)
    encoding = tokenizer.encode(title, abstract) if abstract else tokenizer.encode(title)
    texts = [title, abstract] if abstract else [title]
    return [
        (MATCHER.phrases[o.phrase], encoding.tokens[o.first : o.end]) for o in occurrences(encoding, texts, MATCHER)
    ]


def test_phrases_are_found_at_their_wordpieces() -> None:
    """In title and abstract, in other spellings, and the longest only; letters of a rare word are all of it."""
    assert found("Deep Neural Networks", "we study a coral-reef and zebrafish.") == [
        ("deep neural network", ["deep", "neural", "networks"]),
        ("coral reef", ["coral", "-" if "-" in tiny_tokenizer().get_vocab() else "[UNK]", "reef"]),
        ("zebrafish", ["z", *(f"##{letter}" for letter in "ebrafish")]),
    ]


def test_a_phrase_that_is_cut_off_is_none() -> None:
    assert found("a study of the coral reef", length=7) == []
    assert found("a study of the coral reef", length=8) == [("coral reef", ["coral", "reef"])]


def test_a_phrase_is_hidden_as_a_whole_and_asked_for_at_its_first_position() -> None:
    ids = np.array([2, 10, 11, 12, 13, 3])
    masked = hide(ids, np.arange(1, 5), [Occurrence(7, 2, 4)], ALL, MASK, 50, np.random.default_rng(1))
    assert masked.ids.tolist() == [2, 10, MASK, MASK, 13, 3]
    assert masked.words.tolist() == [NOTHING, NOTHING, 11, 12, NOTHING, NOTHING]
    assert masked.phrases.tolist() == [NOTHING, NOTHING, 7, NOTHING, NOTHING, NOTHING]


def test_a_visible_phrase_is_asked_for_where_it_can_be_read() -> None:
    ids, visible = np.array([2, 10, 11, 3]), Shares(phrases=1.0, visible=1.0, words=0.0)
    masked = hide(ids, np.arange(1, 3), [Occurrence(7, 1, 3)], visible, MASK, 50, np.random.default_rng(1))
    assert masked.ids.tolist() == ids.tolist()
    assert masked.phrases.tolist() == [NOTHING, 7, NOTHING, NOTHING]
    assert (masked.words == NOTHING).all()


def test_shares_are_kept_to() -> None:
    """Over many texts: half of the phrases; 15 % of the other words, of which 80 % hidden and 10 % replaced."""
    ids = np.concatenate([[2], np.arange(20, 120), [3]])
    phrases = [Occurrence(n, 1 + 10 * n, 3 + 10 * n) for n in range(10)]
    generator, shares = np.random.default_rng(1), Shares(phrases=0.5, visible=0.25, words=0.15)
    made = [hide(ids, np.arange(1, 101), phrases, shares, MASK, 20, generator) for _ in range(300)]
    inside = np.zeros(102, dtype=bool)
    inside[[p for o in phrases for p in (o.first, o.first + 1)]] = True
    asked = np.mean([(m.phrases != NOTHING).sum() for m in made]) / 10
    assert asked == pytest.approx(0.5, abs=0.03)
    assert np.mean([(m.words[inside] != NOTHING).sum() for m in made]) / 20 == pytest.approx(0.375, abs=0.03)
    words = np.concatenate([m.words[~inside] for m in made])
    read = np.concatenate([m.ids[~inside] for m in made])
    chosen = words != NOTHING
    assert chosen.mean() == pytest.approx(0.15 * 80 / 82, abs=0.01)
    assert (read[chosen] == MASK).mean() == pytest.approx(0.8, abs=0.03)
    assert (read[chosen] == words[chosen]).mean() == pytest.approx(0.1, abs=0.03)
    assert all(m.ids[0] == 2 and m.ids[-1] == 3 for m in made)


class Fixed(nn.Module):
    """A backbone whose states are the ids, one-hot, so that logits can be written down."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__()
        self.decoder = nn.Linear(len(logits), logits.shape[1] - 1, bias=False)
        self.decoder.weight.data = logits[:, :-1].T

    def forward(self, ids: torch.Tensor, _mask: torch.Tensor) -> torch.Tensor:
        return nn.functional.one_hot(ids, self.decoder.in_features).float()


def test_neither_right_answer_is_the_others_wrong_one() -> None:
    """Three wordpieces and one keyphrase; at a position that hides word 1 and keyphrase 0, each is compared with the
    wrong wordpieces only. At another, word 2 competes with the keyphrase too."""
    logits = torch.tensor([[0.0, 2.0, 1.0, 3.0], [0.5, 0.0, 1.0, 4.0]])  # by id read: words 0, 1, 2 and the keyphrase
    casper = Casper(Fixed(logits), 1, [0], Shape())  # type: ignore[arg-type]
    casper.keyphrases = nn.Linear(2, 1, bias=False)
    casper.keyphrases.weight.data = logits[:, -1:].T
    batch = MaskedBatch(
        Texts(torch.tensor([[0, 1]]), torch.ones(1, 2, dtype=torch.int64)),
        original=torch.tensor([[1, 2]]),
        words=torch.tensor([[1, 2]]),
        phrases=torch.tensor([[0, NOTHING]]),
    )
    parts = MaskedStep(casper)(batch, 0.0)

    def surprise(own: float, *others: float) -> float:
        return math.log(sum(math.exp(x) for x in (own, *others))) - own

    assert parts["words"].item() == pytest.approx((surprise(2, 0, 1) + surprise(1, 0.5, 0, 4)) / 2)
    assert parts["phrases"].item() == pytest.approx(surprise(3, 0, 1))
    assert (parts["words_right"].item(), parts["phrases_right"].item()) == (0.5, 1.0)
