"""Two versions asked the same questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedQuery
from sciret.encoders.encoder import Encoder
from sciret.errors import StoreError
from sciret.paper import Paper
from sciret.retrieval.canary import Canary, CanaryReport, Side, compare
from sciret.retrieval.ingest import ingest
from sciret.retrieval.queries import Question
from sciret.retrieval.search import SearchOptions

Fill = Callable[[list[Paper]], EmbeddedStore]


@pytest.fixture
def fill(tmp_path: Path, encoder: Encoder) -> Iterator[Fill]:
    made: list[EmbeddedStore] = []

    def make(papers: list[Paper]) -> EmbeddedStore:
        made.append(EmbeddedStore.open(tmp_path / f"{len(made)}.db", create=True))
        ingest(papers, encoder, made[-1], on_reject=lambda error: pytest.fail(str(error)), on_progress=lambda _: None)
        return made[-1]

    yield make
    for store in made:
        store.close()


def test_equal_versions_agree_and_find_titles(fill: Fill, encoder: Encoder, papers: list[Paper]) -> None:
    some = papers[:14]
    old, new = (Side(fill(some), encoder) for _ in range(2))
    titles = [Question(paper.id, paper.title) for paper in some]
    report = compare(titles, old, new, SearchOptions(), titles=True)
    assert report.overlap == 1
    assert report.found == (1, 1)
    report.check(1.0, 0.0)


def test_a_version_that_lost_papers_is_refused(fill: Fill, encoder: Encoder, papers: list[Paper]) -> None:
    """By what both find, and by titles that find their paper no more."""
    whole, half = Side(fill(papers[:14]), encoder), Side(fill(papers[:7]), encoder)
    titles = [Question(paper.id, paper.title) for paper in papers[:14]]
    report = compare(titles, whole, half, SearchOptions(), titles=True)
    assert report.found == (1, 0.5)
    with pytest.raises(StoreError, match="agree on"):
        report.check(0.9, 1.0)
    with pytest.raises(StoreError, match="finds 100% and the new one 50%"):
        report.check(0.0, 0.1)
    report.check(0.0, 0.5)


def test_overlap_is_of_the_longer_answer() -> None:
    question = Question("q", "text")
    assert Canary(question, ["a", "b"], ["b", "c", "d", "a"]).overlap == 0.5
    assert Canary(question, ["a"], []).overlap == 0
    assert Canary(question, [], []).overlap == 1


def test_the_worst_are_shown_first() -> None:
    canaries = [Canary(Question(str(n), "t"), ["a", "b", "c"], ["a", "b", "c"][:n]) for n in (3, 1, 2)]
    report = CanaryReport(tuple(canaries), titles=False)
    assert [each.question.id for each in report.worst(2)] == ["1", "2"]
    assert report.found is None


def test_papers_can_be_canaries_without_an_encoder(fill: Fill, encoder: Encoder, papers: list[Paper]) -> None:
    old, new = (Side(fill(papers[:12]), _Nothing()) for _ in range(2))
    questions = [Question(paper.id, like=paper.id) for paper in papers[:12]]
    assert compare(questions, old, new, SearchOptions(), titles=False).overlap == 1


def test_no_question_is_an_error(fill: Fill, encoder: Encoder, papers: list[Paper]) -> None:
    side = Side(fill(papers[:1]), encoder)
    with pytest.raises(StoreError, match="--canary"):
        compare([], side, side, SearchOptions(), titles=True)


class _Nothing:
    beta = 0.25

    def encode_query(self, text: str) -> EncodedQuery:
        raise AssertionError(text)
