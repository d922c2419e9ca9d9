from __future__ import annotations

import itertools

import numpy as np

from sciret.encoders.batching import PLANS, Item, Plan, batches, padded
from sciret.encoders.text import ModelInput
from sciret.paper import Paper


def item(place: int, length: int, sentences: int = 1) -> Item:
    spans = np.array([[1 + i, 2 + i] for i in range(sentences)])
    text = ModelInput(np.arange(1, length + 1), spans, np.arange(sentences), ("s",) * sentences, False)
    return Item(place, Paper(str(place), "t"), text)


def test_batches_hold_papers_of_like_length_up_to_a_number_of_tokens() -> None:
    """Padding counts: no batch exceeds the tokens of the plan, and every paper is in exactly one."""
    lengths = [5, 40, 7, 38, 6, 100, 8]
    groups = list(batches((item(i, n) for i, n in enumerate(lengths)), Plan(window=10, tokens=80)))
    assert [[len(one.input.ids) for one in group] for group in groups] == [[100], [40, 38], [8, 7, 6, 5]]
    assert sorted(one.place for group in groups for one in group) == list(range(7))


def test_only_a_window_is_taken_ahead() -> None:
    """The first batch of an endless stream needs no more than one window of it."""
    stream = (item(i, 10) for i in itertools.count())
    next(batches(stream, Plan(window=4, tokens=20)))
    assert next(stream).place == 4


def test_int8_papers_go_alone() -> None:
    """One activation scale is taken for each batch, so no paper may share one."""
    groups = list(batches((item(i, 1) for i in range(5)), PLANS["int8"]))
    assert [len(group) for group in groups] == [1] * 5


def test_padding_is_masked_and_spans_nothing() -> None:
    """The mask tells tokens from padding; a sentence that pads a shorter list is the empty span."""
    arrays = padded([item(0, 3).input, item(1, 2, sentences=2).input])
    assert arrays["input_ids"].tolist() == [[1, 2, 3], [1, 2, 0]]
    assert arrays["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert arrays["spans"].tolist() == [[[1, 2], [0, 0]], [[1, 2], [2, 3]]]
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.int64)}
