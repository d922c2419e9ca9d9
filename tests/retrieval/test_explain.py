"""Reasons name words as people wrote them and the sentence pairs that carry the match."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sciret.encoded import EncodedPaper, EncodedQuery, Vector
from sciret.encoders.analysis import count_terms
from sciret.paper import Paper
from sciret.retrieval.explain import CELLS, explain
from sciret.retrieval.transport import WHOLE_TAU, Measure, match

AXES: Vector = np.eye(8, dtype=np.float32)


def query(text: str, vectors: Vector = AXES[:1]) -> EncodedQuery:
    sentences = tuple(f"query sentence {i + 1}" for i in range(len(vectors)))
    return EncodedQuery(text, "model", sentences=sentences, sentence_vectors=vectors)


def paper(title: str, vectors: Vector = AXES[:1]) -> EncodedPaper:
    sentences = tuple(f"paper sentence {i + 1}" for i in range(len(vectors)))
    return EncodedPaper(Paper("p", title), "model", sentences=sentences, sentence_vectors=vectors)


def shares(*values: float) -> Vector:
    return np.array(values, np.float32)


def test_words_are_shown_as_the_paper_writes_them() -> None:
    """Not as stems, nor in the query's form; in order of their share, which sum to 1."""
    asked = query("warming coral reef")
    why = explain(
        asked,
        paper("Corals in a Warmed sea, and reefs"),
        tuple(count_terms(asked.text)),
        shares(0.1, 0.3, 0.2),
        None,
        0,
    )
    assert list(why.terms) == ["Corals", "reefs", "Warmed"]
    assert list(why.terms.values()) == pytest.approx([1 / 2, 1 / 3, 1 / 6])
    assert why.sentences == ()


def test_a_word_that_the_paper_does_not_write_is_shown_as_the_query_writes_it() -> None:
    """The sparse side may read fields that are not part of the text."""
    assert dict(explain(query("Warming"), paper("x"), ("warm",), shares(0.5), None, 0).terms) == {"Warming": 1.0}


def test_words_without_a_contribution_are_left_out() -> None:
    """Also when none has one."""
    assert dict(explain(query("a b"), paper("b"), ("x", "b"), shares(0, 0.2), None, 0).terms) == {"b": 1.0}
    assert dict(explain(query("a b"), paper("b"), ("x", "b"), shares(0, 0), None, 0).terms) == {}
    assert dict(explain(query("a b"), paper("b"), (), shares(), None, 0).terms) == {}


def test_words_and_concepts_share_one_score() -> None:
    """Pieces of one word are one word, and what matches nothing is left out."""
    asked = replace(query("coral photosynthesis"), tokens={"coral": 1.0, "photo": 1.0, "##synthesis": 1.0, "sea": 1.0})
    why = explain(
        asked,
        paper("Photosynthesis of corals"),
        (),
        shares(0.1, 0.2, 0.3, 0.0, 0.4, 0.0),
        None,
        0,
        tokens=("coral", "photo", "##synthesis", "sea"),
        keyphrases=("coral reef", "sand"),
    )
    assert dict(why.terms) == pytest.approx({"Photosynthesis": 0.5, "corals": 0.1})
    assert dict(why.keyphrases) == pytest.approx({"coral reef": 0.4})
    assert sum(why.terms.values()) + sum(why.keyphrases.values()) == pytest.approx(1)


def test_stems_and_pieces_of_a_word_are_one_word() -> None:
    """As the paper first writes it, whichever form the query or the model has of it."""
    asked = replace(query("stem cell niches"), tokens=dict.fromkeys(("cell", "cells", "CELL", "niche", "##s"), 1.0))
    why = explain(
        asked,
        paper("Cells of a niche: each cell, and CELL lines"),
        ("stem", "cell", "nich"),
        shares(0.0, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.3),
        None,
        0,
        tokens=("cell", "cells", "CELL", "niche", "##s"),
        keyphrases=("cell",),
    )
    assert dict(why.terms) == pytest.approx({"Cells": 0.5, "niche": 0.2})
    assert dict(why.keyphrases) == pytest.approx({"cell": 0.3})


def test_forms_that_neither_text_has_are_one_word_too() -> None:
    """Called by the heaviest; stop words, which have no stem, are one without regard to case."""
    asked = replace(query("night"), tokens=dict.fromkeys(("sleep", "sleeping", "The", "the"), 1.0))
    tokens = ("sleep", "sleeping", "The", "the")
    why = explain(asked, paper("A bed"), (), shares(0.1, 0.4, 0.2, 0.3), None, 0, tokens=tokens)
    assert dict(why.terms) == pytest.approx({"sleeping": 0.5, "the": 0.5})


def test_the_single_best_pair_is_one_match() -> None:
    """Sentence numbers start at 1, and both texts are given."""
    found = match(AXES[:2], [AXES[[4, 5, 1]]], "single", tau=1)
    (only,) = explain(query("q", AXES[:2]), paper("t", AXES[[4, 5, 1]]), (), shares(), found, 0).sentences
    assert (only.query_sentence, only.paper_sentence) == (2, 3)
    assert (only.query_text, only.paper_text) == ("query sentence 2", "paper sentence 3")
    assert [only.mass, only.distance] == pytest.approx([1, 0], abs=1e-6)


def test_the_heaviest_cells_of_the_plan_come_first() -> None:
    """Of equal mass, the nearer pair first; the candidate is the one asked for."""
    asked, near = AXES[:3], np.array([AXES[2], AXES[0] * 0.8 + AXES[7] * 0.6, AXES[1]], np.float32)
    found = match(asked, [AXES[4:6], near], "transport", tau=WHOLE_TAU)
    cells = explain(query("q", asked), paper("t", near), (), shares(), found, 1).sentences
    assert [(cell.query_sentence, cell.paper_sentence) for cell in cells[:3]][-1] == (1, 2)
    assert {(cell.query_sentence, cell.paper_sentence) for cell in cells[:2]} == {(2, 3), (3, 1)}
    assert sum(cell.mass for cell in cells) == pytest.approx(1, abs=1e-3)
    assert [cell.mass for cell in cells] == pytest.approx(sorted((cell.mass for cell in cells), reverse=True), abs=1e-6)


@pytest.mark.parametrize("measure", ["transport", "attention"])
def test_reasons_stay_few(measure: Measure) -> None:
    found = match(AXES, [AXES], measure, tau=WHOLE_TAU)
    assert len(explain(query("q", AXES), paper("t", AXES), (), shares(), found, 0).sentences) == CELLS
