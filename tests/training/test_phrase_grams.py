"""Candidate phrases of papers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sciret.encoders.phrase_words import phrase_key
from sciret.encoders.phrases import PhraseMatcher
from sciret.paper import Paper
from sciret.training.phrase_grams import WordTable, author_keyphrases, blocks, tokens_of


def candidates(title: str, abstract: str = "", keywords: Sequence[str] = ()) -> dict[str, bool]:
    """What is found in a paper, and whether it stands alone somewhere."""
    paper = Paper("p", title, abstract, keywords=tuple(keywords))
    found: dict[str, bool] = {}
    for grams in blocks([paper], WordTable()):
        for start, end, alone in zip(grams.starts.tolist(), grams.ends.tolist(), grams.alone.tolist(), strict=True):
            name = grams.surfaces.text(start, end)
            found[name] = found.get(name, False) or alone
    return found


def test_runs_of_words_between_cuts() -> None:
    """Every part of a run that could be a term, and which of them are whole runs."""
    found = candidates("We propose a graph neural network for protein folding")
    assert found["graph neural network"]
    assert found["protein folding"]
    assert found["neural network"] is False
    assert "network for protein" not in found
    assert "propose" not in found


@pytest.mark.parametrize(
    ("title", "phrase"),
    [
        ("A new cross-lingual transfer method", "cross-lingual transfer"),
        ("The weakly supervised object detection", "weakly supervised object detection"),
        ("Role of T cells in COVID-19", "t cells"),
        ("Role of T cells in COVID-19", "covid-19"),
        ("the chain-of-thought prompting", "chain-of-thought prompting"),
        ("a transformer-based parser", "transformer"),
        ("growth of E. coli in mice", "e coli"),
    ],
)
def test_what_is_a_candidate(title: str, phrase: str) -> None:
    assert phrase in candidates(title)


@pytest.mark.parametrize(
    ("title", "phrase"),
    [
        ("A new cross-lingual transfer method", "lingual transfer"),
        ("state-of-the-art results", "state-of-the-art"),
        ("experimental results show", "experimental results"),
        ("the supervised", "supervised"),
        ("graph-based parsing", "graph-based parsing"),
        ("in 2019 we found 12 cells", "12 cells"),
        ("the cost $O(n)$ term", "cost o"),
        ("statistically significant differences", "significant differences"),
        ("a graph partitioning approach", "graph partitioning approach"),
    ],
)
def test_what_is_none(title: str, phrase: str) -> None:
    assert phrase not in candidates(title)


def test_title_and_abstract_do_not_run_into_each_other() -> None:
    assert "protein folding" not in candidates("On protein", "folding is hard")


def test_abbreviations_count_as_what_they_stand_for() -> None:
    found = candidates("Optimal transport (OT)", "An OT solver. Many OTs.")
    assert "optimal transport solver" in found
    assert "ot" not in found


def test_tokens_are_those_that_the_matcher_reads() -> None:
    """A vocabulary is made from the words that it is later looked for in."""
    text = "Optimal transport (OT) distances of E. coli, with cross-lingual OT."
    joined = " ".join(tokens_of(text))
    matcher = PhraseMatcher(["optimal transport", "optimal transport distance", "e coli", "cross lingual"])
    assert matcher.count(text) == matcher.count(joined)


def test_authors_keyphrases_are_candidates_of_their_own() -> None:
    found = candidates("Something else", keywords=["Quality of life", "Long short-term memory (LSTM)"])
    assert {"quality of life", "long short-term memory"} <= found.keys()


@pytest.mark.parametrize("keyword", ["Other", "", "...", "2019", "method", "a phrase of far too many words to be one"])
def test_keywords_that_are_no_phrases(keyword: str) -> None:
    assert list(author_keyphrases(Paper("p", "t", keywords=(keyword,)))) == []


def test_an_author_who_repeats_a_keyphrase_counts_once() -> None:
    paper = Paper("p", "t", keywords=("Data mining", "data-mining", "Neuron", "neurons"))
    assert list(author_keyphrases(paper)) == ["data mining", "neuron"]


def test_documents_are_numbered_through_blocks() -> None:
    """Whatever their size, and from any number on."""
    papers = [Paper(str(n), f"gene regulation {n}") for n in range(7)]
    found = list(blocks(papers, WordTable(), first=10, tokens=6))
    assert len(found) > 2
    key = phrase_key("gene regulation")
    documents = [d for grams in found for d in grams.documents[grams.keys == key].tolist()]
    assert documents == list(range(10, 17))
