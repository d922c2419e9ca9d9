from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sciret.encoded import EncodedPaper
from sciret.encoders.query import ASPECTS, paper_as_query
from sciret.errors import QueryError
from sciret.paper import Paper

PAPER = EncodedPaper(
    paper=Paper("p7", "Dunes", "Old. Aim. How. Found."),
    model="m",
    dense=np.array([1, 0], dtype=np.float32),
    sentences=("Old.", "Aim.", "How.", "Found."),
    roles=("background", "objective", "method", "result"),
    sentence_vectors=np.eye(4, 2, dtype=np.float32),
    tokens={"dune": 1.0},
)


def test_whole_paper() -> None:
    """All that is stored of it is the query, and it is no aspect."""
    query = paper_as_query(PAPER)
    assert query.text == "Dunes\nOld. Aim. How. Found."
    assert query.sentences == PAPER.sentences
    np.testing.assert_array_equal(query.sentence_vectors, PAPER.sentence_vectors)
    assert (query.like, query.aspect, query.model, query.tokens) == ("p7", False, "m", {"dune": 1.0})


def test_chosen_sentences_keep_their_vectors() -> None:
    """Numbers are 1-based, taken once each and in the paper's order; the document vector stays the paper's."""
    query = paper_as_query(PAPER, sentences=(4, 2, 4))
    assert query.text == "Aim. Found."
    assert query.sentences == ("Aim.", "Found.")
    assert PAPER.sentence_vectors is not None
    np.testing.assert_array_equal(query.sentence_vectors, PAPER.sentence_vectors[[1, 3]])
    assert query.dense is PAPER.dense
    assert query.aspect


@pytest.mark.parametrize(
    ("aspect", "sentences"), [("background", ("Old.", "Aim.")), ("method", ("How.",)), ("result", ("Found.",))]
)
def test_aspects_choose_by_role(aspect: str, sentences: tuple[str, ...]) -> None:
    """What a study set out to do belongs to its background."""
    query = paper_as_query(PAPER, roles=ASPECTS[aspect])
    assert query.sentences == sentences
    assert query.aspect


@pytest.mark.parametrize("number", [0, 5, -1])
def test_sentence_that_is_not_there_is_named(number: int) -> None:
    """With the paper and how many it has."""
    with pytest.raises(QueryError, match=rf"'p7' has no sentence {number}: its sentences are 1 to 4"):
        paper_as_query(PAPER, sentences=(1, number))


def test_role_that_is_not_there_is_named() -> None:
    """With the roles that are."""
    paper = replace(PAPER, roles=("other", "background", "background", "other"))
    with pytest.raises(QueryError, match="role method; it has background, other"):
        paper_as_query(paper, roles=ASPECTS["method"])


def test_paper_without_roles_cannot_be_asked_by_aspect() -> None:
    """The message tells why, and what works instead."""
    with pytest.raises(QueryError, match=r"no role\s+classifier; choose sentences by number"):
        paper_as_query(replace(PAPER, roles=()), roles=ASPECTS["method"])


def test_numbers_and_roles_exclude_each_other() -> None:
    """Which of both was meant cannot be guessed."""
    with pytest.raises(QueryError, match="not by both"):
        paper_as_query(PAPER, sentences=(1,), roles=("method",))
