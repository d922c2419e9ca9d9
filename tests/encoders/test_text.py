from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from sciret.encoders.bundle import TOKENIZER, Bundle
from sciret.encoders.text import CHARACTERS_PER_TOKEN, ModelInput, TextReader, split
from sciret.errors import QueryError
from sciret.paper import Paper

ABSTRACT = "Dunes migrate with the wind. We measured 40 of them, e.g. near the coast. Speed falls with height."
# Everything Python holds in a string, lone surrogates and NUL included, and the separators that models know.
ANY_TEXT = st.one_of(
    st.text(st.characters(), max_size=80), st.sampled_from(["[SEP]", "[CLS] a", "\x00", " \n", "a. B."])
)


@pytest.fixture(scope="session")
def tokenizer(default_bundle: Bundle) -> Tokenizer:
    return Tokenizer.from_file(str(default_bundle.path(TOKENIZER)))


def words(tokenizer: Tokenizer, text: ModelInput) -> list[str]:
    """What stands in each span."""
    return [str(tokenizer.decode(text.ids[start:end].tolist(), skip_special_tokens=False)) for start, end in text.spans]


def test_title_and_abstract_are_read_as_two_segments(reader: TextReader, tokenizer: Tokenizer) -> None:
    """The sequence is `[CLS] title [SEP] abstract [SEP]`, and each span holds one sentence of the abstract."""
    text = reader.read_paper(Paper("1", "Moving dunes", ABSTRACT))
    assert tokenizer.decode(text.ids.tolist(), skip_special_tokens=False).startswith(
        "[CLS] moving dunes [SEP] dunes migrate"
    )
    assert text.sentences == (
        "Dunes migrate with the wind.",
        "We measured 40 of them, e.g. near the coast.",
        "Speed falls with height.",
    )
    assert words(tokenizer, text)[0] == "dunes migrate with the wind."
    assert words(tokenizer, text)[2] == "speed falls with height."
    assert text.rows.tolist() == [0, 1, 2]
    assert not text.truncated


def test_title_alone_is_the_one_sentence(reader: TextReader, tokenizer: Tokenizer) -> None:
    """A title is never split, and the separators are not part of it."""
    text = reader.read_paper(Paper("1", "Dunes. A review.", "  \n"))
    assert text.sentences == ("Dunes. A review.",)
    assert words(tokenizer, text) == ["dunes. a review."]
    assert tokenizer.decode(text.ids.tolist(), skip_special_tokens=False) == "[CLS] dunes. a review. [SEP]"


def test_abstract_without_title(reader: TextReader, tokenizer: Tokenizer) -> None:
    """There is no empty title segment in front of the abstract."""
    text = reader.read_paper(Paper("1", "", "Dunes migrate. Winds blow."))
    assert tokenizer.decode(text.ids.tolist(), skip_special_tokens=False) == "[CLS] dunes migrate. winds blow. [SEP]"
    assert words(tokenizer, text) == ["dunes migrate.", "winds blow."]


def test_given_sentences_are_kept_as_given(reader: TextReader, tokenizer: Tokenizer) -> None:
    """They are not split, trimmed or dropped; one without a token carries the vector of the one before it."""
    sentences = (" First part. Same sentence", "", "\x00", "second ", "\u200b")
    text = reader.read_paper(Paper("1", "T", "ignored", sentences=sentences))
    assert text.sentences == sentences
    assert words(tokenizer, text) == ["first part. same sentence", "second"]
    assert text.rows.tolist() == [0, 0, 0, 1, 1]


def test_blank_first_sentence_carries_the_first_vector(reader: TextReader, tokenizer: Tokenizer) -> None:
    """There is none before it."""
    text = reader.read_paper(Paper("1", "T", sentences=("", "wind")))
    assert words(tokenizer, text) == ["wind"]
    assert text.rows.tolist() == [0, 0]


def test_text_without_any_token_still_has_a_vector(reader: TextReader) -> None:
    """The one vector is that of the whole input, so it is not zero."""
    text = reader.read_paper(Paper("1", "\x00", sentences=("", "")))
    assert text.spans.tolist() == [[0, len(text.ids)]]
    assert text.rows.tolist() == [0, 0]


def test_separators_in_the_text_are_text(reader: TextReader, default_bundle: Bundle) -> None:
    """An abstract that writes `[SEP]` cannot end its own segment."""
    text = reader.read_paper(Paper("1", "T", "The [SEP] token."))
    separator = Tokenizer.from_file(str(default_bundle.path(TOKENIZER))).token_to_id("[SEP]")
    assert (text.ids == separator).sum() == 2


def test_sentences_past_the_limit_carry_the_last_vector_read(reader: TextReader, default_bundle: Bundle) -> None:
    """All sentences are kept, and the cut is reported."""
    sentences = tuple(f"Sentence number {n} says that dunes migrate with the wind." for n in range(100))
    text = reader.read_paper(Paper("1", "Dunes", sentences=sentences))
    assert text.truncated
    assert len(text.ids) == default_bundle.max_length
    assert text.sentences == sentences
    read = len(text.spans)
    assert 10 < read < 100
    assert text.rows.tolist() == [*range(read), *[read - 1] * (100 - read)]


def test_long_title_leaves_room_for_the_abstract(reader: TextReader, tokenizer: Tokenizer) -> None:
    """It takes at most half the room, and the cut is reported."""
    text = reader.read_paper(Paper("1", "wind " * 3000, "Dunes migrate."))
    assert text.truncated
    assert words(tokenizer, text) == ["dunes migrate."]


@pytest.mark.parametrize("piece", ["Dunes migrate with wind. ", "a", ".", "\n\n", "日本。", "A. "])
def test_absurd_lengths_are_cut_before_any_work(reader: TextReader, default_bundle: Bundle, piece: str) -> None:
    """Megabytes of anything take about as long as an abstract, and are reported as truncated."""
    huge = "Start. " + piece * (2_000_000 // len(piece)) + " end"
    begun = time.perf_counter()
    text = reader.read_paper(Paper("1", huge, huge))
    assert time.perf_counter() - begun < 3
    assert text.truncated
    assert sum(map(len, text.sentences)) <= default_bundle.max_length * CHARACTERS_PER_TOKEN


def test_paper_prefix_is_no_part_of_a_sentence(default_bundle: Bundle, tokenizer: Tokenizer) -> None:
    """A prefix is read first, whether there is a title or not."""
    reader = TextReader(replace(default_bundle, paper_prefix="passage: "))
    both = reader.read_paper(Paper("1", "Dunes", "Winds blow."))
    alone = reader.read_paper(Paper("1", "Dunes"))
    assert tokenizer.decode(both.ids[:5].tolist(), skip_special_tokens=False) == "[CLS] passage : dunes [SEP]"
    assert tokenizer.decode(alone.ids.tolist(), skip_special_tokens=False) == "[CLS] passage : dunes [SEP]"
    assert words(tokenizer, both) == ["winds blow."]
    assert words(tokenizer, alone) == ["dunes"]


def test_query_is_split_and_its_prefix_is_no_sentence(reader: TextReader, tokenizer: Tokenizer) -> None:
    """The prefix stands in front, and no span touches it."""
    text = reader.read_query("Do dunes migrate? How fast?", "Find this: ")
    assert text.sentences == ("Do dunes migrate?", "How fast?")
    assert words(tokenizer, text) == ["do dunes migrate?", "how fast?"]
    assert text.spans[0, 0] == 4


@pytest.mark.parametrize("text", ["", "  \n\t", "\x00", "\u200b\u200b"])
def test_query_without_a_word_is_refused(reader: TextReader, text: str) -> None:
    """Also one that only looks as if it held something."""
    with pytest.raises(QueryError, match="at least one word"):
        reader.read_query(text)


@settings(max_examples=300, deadline=None)
@given(title=ANY_TEXT, abstract=ANY_TEXT, sentences=st.lists(ANY_TEXT, max_size=6))
def test_any_text_gives_a_valid_input(
    reader: TextReader, default_bundle: Bundle, title: str, abstract: str, sentences: list[str]
) -> None:
    """Whatever the characters: a vector for each sentence, from spans that lie in the input and do not overlap."""
    text = reader.read_paper(Paper("1", title, abstract, tuple(sentences)))
    if sentences:
        assert text.sentences == tuple(sentences)
    assert 1 <= len(text.sentences) == len(text.rows)
    assert 2 <= len(text.ids) <= default_bundle.max_length
    assert text.rows.max() < len(text.spans)
    assert (np.diff(text.rows) >= 0).all()
    assert all(0 <= start < end <= len(text.ids) for start, end in text.spans)
    assert all(before[1] <= after[0] for before, after in pairwise(text.spans))


def test_words_that_look_like_abbreviations_end_a_sentence() -> None:
    """Four small letters before the full stop and a capital after it; a real abbreviation has fewer."""
    passage = split("They spent it in deep sleep. Age, as Dr. Who et al. Found, did not matter.", 1000)
    assert passage.sentences == ("They spent it in deep sleep.", "Age, as Dr. Who et al. Found, did not matter.")


def test_a_title_that_was_taken_from_the_abstract_is_not_read_twice(reader: TextReader) -> None:
    """As `--title-from-abstract` makes them: the same input as without a title."""
    taken = reader.read_paper(Paper("1", "Dunes migrate with the wind.", ABSTRACT))
    without = reader.read_paper(Paper("1", "", ABSTRACT))
    assert taken.ids.tolist() == without.ids.tolist()
    assert taken.sentences == without.sentences
