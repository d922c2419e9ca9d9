"""PhraseMatcher: which phrases of a vocabulary a text has, and where."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciret.encoders.phrases import Match, PhraseMatcher, load_phrases, outermost
from sciret.errors import RecordError, SettingsError

PHRASES = (
    "optimal transport",
    "large language models",
    "language model",
    "cross-lingual transfer",
    "crosslingual",
    "e. coli",
    "covid-19",
    "optimal transport distance",
    "model",
)
MATCHER = PhraseMatcher(PHRASES)


def found(text: str) -> list[tuple[str, str]]:
    return [(PHRASES[match.phrase], text[match.start : match.end]) for match in MATCHER.find(text)]


@pytest.mark.parametrize(
    ("text", "phrase", "written"),
    [
        ("by Optimal-Transport maps", "optimal transport", "Optimal-Transport"),
        ("in E. coli cells", "e. coli", "E. coli"),
        ("with COVID 19.", "covid-19", "COVID 19"),
        ("cross lingual", "crosslingual", "cross lingual"),
        ("Crosslingual transfers", "cross-lingual transfer", "Crosslingual transfers"),
    ],
)
def test_spellings_are_found_where_they_stand(text: str, phrase: str, written: str) -> None:
    assert (phrase, written) in found(text)


def test_nested_phrases_are_all_found_and_can_be_left_out() -> None:
    text = "large language models"
    assert [phrase for phrase, _ in found(text)] == ["large language models", "language model", "model"]
    assert [PHRASES[match.phrase] for match in outermost(MATCHER.find(text))] == ["large language models"]


def test_overlapping_phrases_are_both_outermost() -> None:
    matcher = PhraseMatcher(["neural language", "language model"])
    assert [m.phrase for m in outermost(matcher.find("neural language model"))] == [0, 1]


@pytest.mark.parametrize(
    "text", ["optimal, transport", "optimal. Transport", "optimal (transport)", "optimal $x$ transport"]
)
def test_marks_keep_words_apart(text: str) -> None:
    assert found(text) == []


def test_an_abbreviation_counts_as_what_it_was_defined_by() -> None:
    """Also in the plural; and the brackets do not interrupt the phrase around them."""
    text = "The optimal transport (OT) distance is an OT. Many OTs, and no ot."
    assert found(text) == [
        ("optimal transport", "optimal transport"),
        ("optimal transport distance", "optimal transport (OT) distance"),
        ("optimal transport", "OT"),
        ("optimal transport", "OTs"),
    ]


def test_an_abbreviation_that_is_not_defined_is_a_word() -> None:
    assert found("OT of an LLM") == []


def test_counts_are_in_order_of_appearance() -> None:
    counted = MATCHER.count("a model, crosslingual, another model")
    assert [(PHRASES[number], count) for number, count in counted.items()] == [("model", 2), ("crosslingual", 1)]


def test_the_number_of_a_phrase_by_any_spelling() -> None:
    assert MATCHER.number("Optimal transports") == 0
    assert MATCHER.number("optimal") is None
    assert PhraseMatcher([]).number("optimal") is None


@given(st.text(max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    """Places lie within the text unless it is brought to another form of Unicode first."""
    for match in MATCHER.find(text + " model"):
        assert 0 <= match.start < match.end


@given(st.lists(st.sampled_from(["optimal", "transport", "large", "language", "models", "zzz"]), max_size=12))
def test_everything_is_found_that_a_slow_search_finds(words: list[str]) -> None:
    """Against the plain definition: a run of words whose letters are a phrase's."""
    text = " ".join(words)
    expected = set()
    for phrase, parts in (
        (0, ["optimal", "transport"]),
        (1, ["large", "language", "models"]),
        (2, ["language", "models"]),
    ):
        for first in range(len(words)):
            if words[first : first + len(parts)] == parts:
                start = len(" ".join(words[:first])) + (first > 0)
                expected.add(Match(phrase, start, start + len(" ".join(parts))))
    assert {match for match in MATCHER.find(text) if match.phrase in (0, 1, 2)} == expected


def test_nothing_in_nothing() -> None:
    assert PhraseMatcher([]).find("any text") == []
    assert MATCHER.find("") == []


def test_a_vocabulary_is_a_file_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "keyphrases.txt"
    path.write_text("optimal transport\nnaïve bayes\n", encoding="utf-8")
    assert load_phrases(path) == ["optimal transport", "naïve bayes"]
    assert PhraseMatcher.load(path).number("Naive Bayes") == 1


@pytest.mark.parametrize(
    ("content", "line"),
    [("gene\ndata set\ndatasets\n", 3), ("gene\n\ncell\n", 2), ("gene\n cell\n", 2), ("gene\n...\n", 2)],
)
def test_a_line_that_is_no_phrase_or_one_too_many_is_refused(tmp_path: Path, content: str, line: int) -> None:
    path = tmp_path / "keyphrases.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(RecordError) as error:
        load_phrases(path)
    assert error.value.where == f"{path}:{line}"


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load_phrases(tmp_path / "missing.txt")
    (tmp_path / "latin.txt").write_bytes(b"na\xefve\n")
    with pytest.raises(SettingsError, match="UTF-8"):
        load_phrases(tmp_path / "latin.txt")
