"""Keyphrases of a text: present and absent ones, each concept once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper
from sciret.encoders.bundle import KEYPHRASES, load_bundle
from sciret.encoders.encoder import Encoder
from sciret.encoders.phrase_words import words_of
from sciret.encoders.phrases import load_phrases
from sciret.errors import QueryError, SettingsError
from sciret.paper import Paper
from sciret.retrieval.keyphrases import keyphrases, sorted_out, stored_keyphrases, text_as_paper
from sciret.retrieval.queries import open_paper

ATTENTION = (
    "Attention is all you need. The dominant sequence transduction models are based on complex recurrent or "
    "convolutional neural networks that include an encoder and a decoder. The best performing models also connect the "
    "encoder and decoder through an attention mechanism. We propose a new simple network architecture, the "
    "Transformer, based solely on attention mechanisms, dispensing with recurrence and convolutions entirely. "
    "Experiments on two machine translation tasks show these models to be superior in quality."
)


def encoded(text: str, **weights: float) -> EncodedPaper:
    """Words of a text weigh 1."""
    tokens = {word.lower(): 1.0 for word in words_of(text)}
    phrases = {name.replace("_", " "): weight for name, weight in weights.items()}
    return EncodedPaper(Paper("p", text), "m", tokens=tokens, keyphrases=phrases)


def test_present_ones_are_told_from_absent_ones() -> None:
    """In any spelling. Present ones need not be in the vocabulary, and absent ones are by the model's weights."""
    found = sorted_out(encoded("Coral Reefs of zooxanthellae", coral_reef=1.0, sea_temperature=3.0, bleaching=0.5), 10)
    assert list(found.present) == ["coral reefs", "zooxanthellae"]
    assert list(found.absent.items()) == [("sea temperature", 3.0), ("bleaching", 0.5)]


def test_phrases_with_the_same_stems_are_one() -> None:
    """Where one of them stands in the text, none of them is absent."""
    found = sorted_out(
        encoded(
            "A language model; language models, language modelling",
            language_modelling=3.0,
            neural_networks=2.0,
            neural_network=1.5,
        ),
        10,
    )
    assert len(found.present) == 1
    assert dict(found.absent) == {"neural networks": 2.0}


def test_phrases_of_stop_words_are_not_all_the_same() -> None:
    found = sorted_out(encoded("x", the_who=1.0, to_be=2.0, is_it=1.0), 10)
    assert set(found.absent) == {"to be", "is it", "the who"}


def test_at_most_so_many_of_each_kind() -> None:
    weights = {f"thing{i}": 10.0 - i for i in range(8)}
    found = sorted_out(encoded("thing0, thing2, thing4, thing6", **weights), 3)
    assert list(found.present) == ["thing0", "thing2", "thing4"]
    assert list(found.absent) == ["thing1", "thing3", "thing5"]


def test_what_occurs_often_and_early_comes_first() -> None:
    text = "Mesophotic corals. Calcified algae. Sea urchins, sea urchins, sea urchins."
    present = sorted_out(encoded(text), 3).present
    assert list(present) == ["sea urchins", "mesophotic corals", "calcified algae"]


def test_part_of_what_was_named_counts_half() -> None:
    """So that the next phrase says something else; without the longer one it would come first."""
    text = "Mesophotic coral ecology. Coral ecology, giant clams."
    present = sorted_out(encoded(text, coral_ecology=0.1, unrelated=9.0), 3).present
    assert list(present) == ["mesophotic coral ecology", "giant clams", "coral ecology"]
    assert list(present.values()) == sorted(present.values(), reverse=True)


def test_the_default_model_names_what_a_text_is_about(encoder: Encoder) -> None:
    """Phrases that its vocabulary lacks too, and no words of academic prose."""
    (found,) = keyphrases([text_as_paper(ATTENTION)], encoder, 10)
    assert next(iter(found.present)) == "attention mechanism"
    assert {"encoder", "decoder", "neural networks", "dominant sequence transduction models"} <= set(found.present)
    known = set(load_phrases(encoder.bundle.path(KEYPHRASES)))
    assert not set(found.present) <= known
    assert set(found.absent) <= known
    words = {word for phrase in found.present for word in words_of(phrase)}
    assert not words & {"propose", "new", "based", "show", "superior", "solely", "performing"}
    assert any("transformer" in phrase for phrase in found.absent)


def test_a_stored_paper_has_the_keyphrases_of_its_text(
    encoder: Encoder, store: EmbeddedStore, papers: list[Paper]
) -> None:
    some = [paper for paper in papers if paper.abstract and paper.access == "open"][:5]
    for fresh in keyphrases(some, encoder, 10):
        stored = stored_keyphrases(open_paper(store, fresh.paper.id, restricted=False), 10)
        assert list(stored.present) == list(fresh.present)
        assert dict(stored.present) == pytest.approx(dict(fresh.present), rel=1e-3)
        assert dict(stored.absent) == pytest.approx(dict(fresh.absent), rel=1e-3)


def test_a_model_names_the_keyphrases_of_papers(sparse_encoder: Encoder) -> None:
    papers = [Paper("a", "Coral life", "A reef."), Paper("b", "An enzyme", "It is in the sand."), Paper("c", "No such")]
    first, second, third = keyphrases(papers, sparse_encoder, 10)
    assert (first.paper.id, set(first.present), dict(first.absent)) == (
        "a",
        {"coral life", "reef"},
        {"coral reef": 2.0},
    )
    assert set(second.present) == {"enzyme", "sand"}
    assert not third.present
    assert not third.absent


class VectorsOnly:
    """An encoder of a bundle without sparse outputs."""

    bundle = replace(load_bundle("default"), outputs=("dense", "sentences"))

    def encode_papers(self, papers: Iterable[Paper]) -> Iterator[EncodedPaper]:
        raise AssertionError(papers)


def test_a_model_without_keyphrases_is_refused_with_the_remedy() -> None:
    """Before anything is read."""
    with pytest.raises(SettingsError, match=r"gives no keyphrases.*--model.*sciret models"):
        keyphrases([], VectorsOnly(), 10)


def test_a_paper_that_was_given_none_is_an_error() -> None:
    with pytest.raises(QueryError, match=r"'p' has no keyphrases.*sciret models"):
        stored_keyphrases(encoded("text"), 5)


def test_a_text_is_read_as_a_title_and_what_follows() -> None:
    paper = text_as_paper(" Corals bleach.  They recover. Or not. ")
    assert (paper.title, paper.abstract) == ("Corals bleach.", "They recover. Or not.")
    assert text_as_paper("One thing").abstract == ""
    with pytest.raises(QueryError, match="empty"):
        text_as_paper(" \n")
