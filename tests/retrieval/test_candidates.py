"""Which phrases of a text may be its keyphrases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciret.encoded import EncodedPaper
from sciret.encoders.phrase_words import words_of
from sciret.paper import Paper
from sciret.retrieval.candidates import Candidate, candidates


def found(
    title: str, abstract: str = "", light: str = "", keyphrases: dict[str, float] | None = None
) -> dict[str, Candidate]:
    """Of a text each word of which weighs 1, but for the light ones."""
    tokens = {word.lower(): 1.0 for word in words_of(f"{title} {abstract}")}
    tokens |= dict.fromkeys(light.split(), 0.1)
    encoded = EncodedPaper(Paper("p", title, abstract), "m", tokens=tokens, keyphrases=keyphrases or {})
    return {candidate.text: candidate for candidate in candidates(encoded)}


def test_a_phrase_is_what_stands_between_words_that_weigh_little() -> None:
    """Or between marks, or words that no phrase contains; a title is not continued by the abstract."""
    text = found("Coral bleaching of warm reefs", "Novel satellite data shows heat, light stress", light="of")
    assert set(text) == {"coral bleaching", "warm reefs", "satellite data", "heat", "light stress"}
    assert set(found("Coral bleaching", "Heat stress")) == {"coral bleaching", "heat stress"}


def test_no_phrase_says_nothing_or_is_a_clause() -> None:
    text = found("model, approach, alternative approaches, model approach, model selection, a, x, 12")
    assert set(text) == {"model selection"}
    assert not found("coral algae sponge urchin clam kelp")
    assert set(found("coral algae sponge urchin clam")) == {"coral algae sponge urchin clam"}


def test_what_a_hyphen_joins_is_not_cut() -> None:
    text = found("mind-independent world, state-of-the-art parsers", light="independent of the")
    assert set(text) == {"mind-independent world", "state-of-the-art parsers"}


def test_spellings_of_a_phrase_are_one() -> None:
    """Written as it is first. An abbreviation is what it was defined as."""
    text = found("Neural Networks", "A neural network, optimal transport (OT), NEURAL-NETWORKS, OT", light="a")
    assert {name: candidate.count for name, candidate in text.items()} == {"neural networks": 3, "optimal transport": 2}
    assert text["neural networks"].place == 0
    assert 0 < text["optimal transport"].place < 1


def test_keyphrases_of_the_vocabulary_are_found_within_longer_phrases() -> None:
    text = found("Deep language models", keyphrases={"language model": 2.0, "deep language model": 1.0, "speech": 3.0})
    assert set(text) == {"deep language models", "language model"}
    assert (text["deep language models"].whole, text["deep language models"].keyphrase) == (True, 1.0)
    assert (text["language model"].whole, text["language model"].keyphrase) == (False, 2.0)
    assert text["language model"].overlaps(text["deep language models"])
    assert text["deep language models"].overlaps(text["language model"])


def test_a_word_weighs_as_much_as_the_heaviest_of_its_pieces() -> None:
    tokens = {"photo", "##syn", "##thesis", "rate"}
    weights = {piece: 2.0 if piece == "##syn" else 1.0 for piece in tokens}
    (one,) = candidates(EncodedPaper(Paper("p", "Photosynthesis rate"), "m", tokens=weights))
    assert (one.text, one.weight) == ("photosynthesis rate", 1.5)


def test_without_weights_of_words_there_is_the_vocabulary() -> None:
    """A model may give keyphrases alone."""
    encoded = EncodedPaper(Paper("p", "Coral reefs in warm seas"), "m", keyphrases={"coral reef": 1.0, "sand": 1.0})
    assert [(one.text, one.weight) for one in candidates(encoded)] == [("coral reef", 1.0)]


@given(st.text(max_size=80), st.text(max_size=80))
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_any_text_can_be_read(title: str, abstract: str) -> None:
    for name, candidate in found(title, abstract, keyphrases={"a b": 1.0, "i": 2.0}).items():
        assert name == candidate.text.lower() or candidate.keyphrase
        assert candidate.count >= 1
        assert 0 <= candidate.place < 1
