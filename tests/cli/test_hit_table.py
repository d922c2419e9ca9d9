"""Hits for people, from records that no reader would let through."""

from __future__ import annotations

import pytest

from sciret.cli.answer import Answer
from sciret.cli.hit_table import print_hits
from sciret.hit import Hit, SentenceMatch, Why
from sciret.paper import Paper
from sciret.retrieval.queries import Question
from sciret.retrieval.search import SearchOptions
from sciret.settings import Settings

HOSTILE = "\x1b[2J\x1b]0;pwned\x07 [red]not red[/red] :smile:\nnext"


def answer(*hits: Hit) -> Answer:
    return Answer(Question("", "text"), Settings(), SearchOptions(), "f" * 64, 0.2, list(hits))


def hit(paper: Paper, words: int = 1, sentence: str = "A sentence.") -> Hit:
    parts = {"dense": 0.5, "sparse": 0.5, "fused": 0.5, "rerank": 0.5}
    terms = {f"word{n}": 1 / words for n in range(words)}
    return Hit(1, 0.5, paper, parts, Why(terms, {}, (SentenceMatch(1, 1, "text", sentence, 1.0, 0.5),)))


@pytest.mark.parametrize("explain", [False, True])
def test_hostile_text_is_only_text(capsys: pytest.CaptureFixture[str], explain: bool) -> None:
    """No escape sequence, no markup and no line break of a record reaches the terminal as such."""
    paper = Paper(id=HOSTILE, title=HOSTILE, authors=(HOSTILE,))
    print_hits(answer(hit(paper, sentence=HOSTILE)), explain=explain)
    shown = capsys.readouterr().out
    assert not any(character < " " and character != "\n" for character in shown)
    assert "[red]not red[/red] :smile: next" in " ".join(shown.split())


def test_many_words_are_counted_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    print_hits(answer(hit(Paper(id="a", title="A"), words=10)), explain=False)
    assert "word7 and 2 more" in " ".join(capsys.readouterr().out.split())


def test_long_titles_are_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is cut off: all words of the title are there, in lines of at most 80 columns."""
    title = " ".join(f"word{n}" for n in range(60))
    print_hits(answer(hit(Paper(id="a", title=title))), explain=False)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert title in " ".join(shown.split())


def test_a_bare_record_has_no_empty_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """A title and an id are all that a paper must have."""
    print_hits(
        answer(Hit(1, 0.5, Paper(id="a", title="A"), {"dense": 0.5, "sparse": 0.0, "fused": 0.5})), explain=False
    )
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["#", "score", "paper"],
        ["1", "0.5000", "A"],
        ["a"],
    ]
