"""What every store asks of a paper before it keeps it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sciret.encoded import EncodedPaper
from sciret.errors import StoreError
from sciret.paper import Paper
from sciret.storable import check, checked_json, dims_of, fold, is_id

PAPER = EncodedPaper(Paper("p", "t"), "m", np.ones(3, np.float32), ("one",), (), np.ones((1, 3), np.float32))


@pytest.mark.parametrize("text", ["", "a\0", "\ud800", "a\udfffb"])
def test_ids_that_cannot_be_kept(text: str) -> None:
    assert not is_id(text)
    with pytest.raises(StoreError, match="an id is text"):
        check(replace(PAPER, paper=Paper(text, "t")))


@pytest.mark.parametrize("text", ["a", " ", "数", "🧪", "x" * 10_000, "../..", "\n"])
def test_any_other_text_is_an_id(text: str) -> None:
    assert is_id(text)
    check(replace(PAPER, paper=Paper(text, "t")))


def test_a_vector_a_sentence() -> None:
    check(PAPER)
    check(replace(PAPER, sentence_vectors=None))
    with pytest.raises(StoreError, match="1 sentence vectors for 2 sentences; encode it again"):
        check(replace(PAPER, sentences=("one", "two")))


def test_vectors_share_one_length() -> None:
    assert dims_of([], None) is None
    assert dims_of([], 5) == 5
    assert dims_of([PAPER, replace(PAPER, dense=None)], None) == 3
    with pytest.raises(StoreError, match="a vector of 3 numbers where the store has 5"):
        dims_of([PAPER], 5)


def test_half_a_letter_is_refused_by_the_papers_name() -> None:
    assert checked_json('{"a":"ü"}', "p") == '{"a":"ü"}'
    with pytest.raises(StoreError, match="paper 'p7': a lone surrogate"):
        checked_json("\ud800", "p7")


def test_case_does_not_matter() -> None:
    assert fold("Straße") == fold("STRASSE")
    assert fold("İ") != fold("I")
