"""Words as the lexical channels index them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from sciret.encoders.analysis import STOP_WORDS, count_terms, fold


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The cat and the hat", ["cat", "hat"]),
        ("Networks networked NETWORKING", ["network"]),
        ("Darwin's finches, the birds’ beaks", ["darwin", "finch", "bird", "beak"]),
        ("p<0.05 (two-tailed)", ["p", "0.05", "two", "tail"]),
        ("snake_case e-mail/web", ["snake", "case", "e", "mail", "web"]),
        ("Ångström naïve ﬁlm Straße Łódź", ["angstrom", "naiv", "film", "strass", "lodz"]),
        ("𝐁old x² ＦＵＬＬ", ["bold", "x2", "full"]),
        ("доклад 数学 한국어", ["доклад", "数学", "한국어"]),
        ("", []),
        ("?! … —", []),
    ],
)
def test_words_are_folded_stemmed_and_without_stop_words(text: str, terms: list[str]) -> None:
    assert list(count_terms(text)) == terms


def test_words_are_counted() -> None:
    assert count_terms("A gene, two genes: the gene") == {"gene": 3, "two": 1}


def test_stop_words_are_the_thirty_three_of_lucene() -> None:
    assert len(STOP_WORDS) == 33


def test_apostrophes_of_both_kinds_are_one() -> None:
    assert count_terms("isn't") == count_terms("isn’t")


def test_a_run_without_end_is_cut() -> None:
    """A sequence pasted into an abstract gives a few long terms, not one of any length."""
    assert [len(term) for term in count_terms("7" * 600)] == [255, 90]


def test_composed_and_decomposed_letters_are_one() -> None:
    assert fold("e\u0301tude \uac00") == fold("\u00e9tude \u1100\u1161")


@given(st.text())
def test_any_text_can_be_analysed(text: str) -> None:
    """And what is indexed can be looked for: analysing the folded text again finds the same words."""
    assert count_terms(fold(text)) == count_terms(text)
    assert all(term and count > 0 for term, count in count_terms(text).items())


def test_threads_agree() -> None:
    """Words that no call has met before, stemmed by several threads at once, are as one stemmer gives them."""
    words = [f"{start}{n}{ending}" for start in ("relat", "hopp") for n in range(2000) for ending in ("ing", "edly")]
    alone = Stemmer.Stemmer("porter").stemWords(words)
    with ThreadPoolExecutor(4) as pool:
        assert [next(iter(terms)) for terms in pool.map(count_terms, words)] == alone
