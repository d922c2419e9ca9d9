"""Abbreviations by the rule of Schwartz and Hearst."""

from __future__ import annotations

import pytest

from sciret.encoders.abbreviations import definitions


def found(text: str) -> dict[str, str]:
    return {one.short: text[one.start : one.end] for one in definitions(text)}


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("We use optimal transport (OT) for it", "OT", "optimal transport"),
        ("of large language models (LLMs) today", "LLM", "large language models"),
        ("long short-term memory (LSTM)", "LSTM", "long short-term memory"),
        ("by functional magnetic resonance imaging (fMRI)", "fMRI", "functional magnetic resonance imaging"),
        ("a heat shock factor ( HSF1 )", "HSF1", None),
        ("in the ventral tegmental area (VTA), cells", "VTA", "ventral tegmental area"),
    ],
)
def test_the_words_before_the_bracket(text: str, short: str, long: str | None) -> None:
    """None where a letter of the abbreviation is in none of them."""
    assert found(text).get(short) == long


@pytest.mark.parametrize(
    "text",
    [
        "as shown (see above)",
        "two groups (n = 5)",
        "the result (OT)",
        "previous work. (BERT) is",
        "values (A)",
        "transport (OT transport)",
        "",
        "(RNN)",
    ],
)
def test_brackets_that_define_nothing(text: str) -> None:
    assert found(text) == {}


def test_bracket_and_long_form_are_given_by_place() -> None:
    text = "So optimal transport (OT) helps"
    one = next(definitions(text))
    assert text[one.end : one.close] == " (OT)"
