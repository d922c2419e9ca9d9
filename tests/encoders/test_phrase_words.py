"""Keys of phrases: equal for spellings of one phrase, different for everything else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciret.encoders.phrase_words import (
    extended,
    fold_word,
    phrase_key,
    phrase_letters,
    readable,
    word_key,
    words_of,
)

PHRASES = st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cross-lingual models", "Crosslingual model"),
        ("cross lingual model", "crosslingual model"),
        ("data sets", "dataset"),
        ("Alzheimer's disease", "alzheimer disease"),
        ("tumour behaviour", "tumor behavior"),
        ("haematopoietic cells", "hematopoietic cell"),
        ("Leukaemia", "leukemia"),
        ("Signalling pathways", "signaling pathway"),
        ("organisation studies", "organization study"),
        ("naïve Bayes classifiers", "naive bayes classifier"),
        ("brain–computer interface", "brain-computer interfaces"),
        ("hypotheses", "hypothesis"),
        ("matrices", "matrix"),
        ("E. coli", "e coli"),
        ("ﬁne-tuning", "fine tuning"),
    ],
)
def test_spellings_of_one_phrase_have_one_key(one: str, other: str) -> None:
    assert phrase_letters(one) == phrase_letters(other)
    assert phrase_key(one) == phrase_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("generative model", "general model"),
        ("dynamics", "dynamic"),
        ("physics", "physic"),
        ("bias", "bia"),
        ("analysis", "analysi"),
        ("process", "proces"),
        ("optimal transport", "transport optimal"),
    ],
)
def test_different_phrases_stay_apart(one: str, other: str) -> None:
    """A stemmer would make some of these one."""
    assert phrase_key(one) != phrase_key(other)


@given(PHRASES)
def test_a_key_depends_on_letters_and_not_on_where_words_begin(words: list[str]) -> None:
    """Of words without endings that folding takes away."""
    words = [word + "o" for word in words]
    assert phrase_key(" ".join(words)) == phrase_key("-".join(words))
    if not any(len(word) > 3 for word in words):  # joined, they may look British or plural
        assert phrase_key(" ".join(words)) == phrase_key("".join(words))


@given(PHRASES, PHRASES)
def test_keys_of_different_letters_differ(one: list[str], other: list[str]) -> None:
    a, b = " ".join(one), " ".join(other)
    assert (phrase_key(a) == phrase_key(b)) == (phrase_letters(a) == phrase_letters(b))


@given(PHRASES)
def test_arrays_of_keys_are_extended_as_single_ones_are(words: list[str]) -> None:
    keys = np.array([0], np.uint64)
    for word in words:
        own, power = word_key(word)
        keys = extended(keys, np.array([own], np.uint64), np.array([power], np.uint64))
    assert int(keys[0]) == phrase_key(" ".join(words))


def test_what_is_no_text_is_blanked_at_its_place() -> None:
    """Math and links keep words apart, tags do not; nothing moves."""
    text = r"the $O(n^2)$ cost \alpha of H<sub>2</sub>O see https://example.org/x [CITE] end"
    shown = readable(text)
    assert len(shown) == len(text)
    assert words_of(text) == ["the", "cost", "of", "H", "2", "O", "see", "end"]
    assert shown.index("cost") == text.index("cost")


def test_decimals_and_apostrophes_are_within_words() -> None:
    assert words_of("GPT-3.5 doesn't lose 0.5%") == ["GPT", "3.5", "doesn't", "lose", "0.5"]


def test_a_phrase_without_letters_has_no_key() -> None:
    assert phrase_key("...") == 0
    assert words_of("— $x$") == []


@pytest.mark.parametrize("word", ["gas", "virus", "series", "news", "mass", "basis"])
def test_words_that_only_look_like_plurals(word: str) -> None:
    assert fold_word(word) == word
