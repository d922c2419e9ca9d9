"""Keyphrases of a text: present and absent ones, each concept once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from sciret.encoded import EncodedPaper
from sciret.encoders.bundle import load_bundle
from sciret.encoders.encoder import Encoder
from sciret.errors import QueryError, SettingsError
from sciret.paper import Paper
from sciret.retrieval.keyphrases import keyphrases, sorted_out, stored_keyphrases, text_as_paper


def encoded(text: str, **weights: float) -> EncodedPaper:
    return EncodedPaper(
        Paper("p", text), "m", keyphrases={name.replace("_", " "): weight for name, weight in weights.items()}
    )


def test_present_ones_are_told_from_absent_ones() -> None:
    """In any spelling; each group by weight."""
    found = sorted_out(
        encoded("Coral Reefs lose their algae", coral_reef=1.0, algae=2.0, sea_temperature=3.0, bleaching=0.5), 10
    )
    assert list(found.present.items()) == [("algae", 2.0), ("coral reef", 1.0)]
    assert list(found.absent.items()) == [("sea temperature", 3.0), ("bleaching", 0.5)]


def test_phrases_with_the_same_stems_are_one() -> None:
    """With the weight of the heaviest; where one of them stands in the text, it is that one."""
    found = sorted_out(
        encoded(
            "A language model", language_modelling=3.0, language_model=1.0, neural_networks=2.0, neural_network=1.5
        ),
        10,
    )
    assert dict(found.present) == {"language model": 3.0}
    assert dict(found.absent) == {"neural networks": 2.0}


def test_phrases_of_stop_words_are_not_all_the_same() -> None:
    assert set(sorted_out(encoded("x", the_who=1.0, to_be=2.0, is_it=1.0), 10).absent) == {"to be", "is it", "the who"}


def test_at_most_so_many_of_each_kind() -> None:
    weights = {f"thing{i}": 10.0 - i for i in range(8)}
    found = sorted_out(encoded("thing0 thing2 thing4 thing6", **weights), 3)
    assert list(found.present) == ["thing0", "thing2", "thing4"]
    assert list(found.absent) == ["thing1", "thing3", "thing5"]


def test_a_model_names_the_keyphrases_of_papers(sparse_encoder: Encoder) -> None:
    papers = [Paper("a", "Coral life", "A reef."), Paper("b", "An enzyme", "It is in the sand."), Paper("c", "No such")]
    first, second, third = keyphrases(papers, sparse_encoder, 10)
    assert (first.paper.id, dict(first.present), dict(first.absent)) == ("a", {}, {"coral reef": 2.0})
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
    assert dict(stored_keyphrases(encoded("A reef", reef=1.0), 5).present) == {"reef": 1.0}


def test_a_text_is_read_as_a_title_and_what_follows() -> None:
    paper = text_as_paper(" Corals bleach.  They recover. Or not. ")
    assert (paper.title, paper.abstract) == ("Corals bleach.", "They recover. Or not.")
    assert text_as_paper("One thing").abstract == ""
    with pytest.raises(QueryError, match="empty"):
        text_as_paper(" \n")
