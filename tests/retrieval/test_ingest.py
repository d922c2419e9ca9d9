"""The ingest path on the real model and the embedded store: nothing is lost, nothing is done twice."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper
from sciret.encoders.encoder import Encoder
from sciret.errors import PapersRefusedError, RecordError, StoreError, WrongModelError
from sciret.paper import Paper
from sciret.retrieval.ingest import BATCH, IngestReport, ingest
from sciret.sources.reader import open_source
from sciret.sources.rejects import RejectsFile


def _papers(count: int) -> list[Paper]:
    return [Paper(id=f"p{i}", title=f"Title number {i}") for i in range(count)]


def _run(records: list[Paper | RecordError], encoder: Encoder, store: EmbeddedStore) -> IngestReport:
    return ingest(records, encoder, store, on_reject=lambda _: None, on_progress=lambda _: None)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[EmbeddedStore]:
    with EmbeddedStore.open(tmp_path / "papers.db", create=True) as store:
        yield store


def test_every_paper_is_written_once(encoder: Encoder, empty: EmbeddedStore) -> None:
    """Also those of a last batch that is not full."""
    records: list[Paper | RecordError] = [*_papers(BATCH + 3)]
    report = _run(records, encoder, empty)
    assert (report.read, report.written, report.unchanged) == (BATCH + 3, BATCH + 3, 0)
    assert empty.stats()["papers"] == BATCH + 3


def test_a_second_run_encodes_only_what_changed(encoder: Encoder, empty: EmbeddedStore) -> None:
    """Unchanged papers are skipped by their content, not by their id."""
    before = _papers(5)
    _run([*before], encoder, empty)
    report = _run([*before[:4], replace(before[4], title="Another title")], encoder, empty)
    assert (report.written, report.unchanged) == (1, 4)
    assert empty.get(["p4"])["p4"].paper.title == "Another title"


def test_refused_records_are_handed_on_and_the_rest_goes_in(encoder: Encoder, empty: EmbeddedStore) -> None:
    """The caller gets every one of them."""
    refused: list[RecordError] = []
    records: list[Paper | RecordError] = [RecordError("f:1", "no title"), *_papers(2), RecordError("f:4", "no id")]
    report = ingest(records, encoder, empty, on_reject=refused.append, on_progress=lambda _: None)
    assert [error.where for error in refused] == ["f:1", "f:4"]
    assert (report.read, report.written, report.rejected) == (4, 2, 2)


def test_strict_stops_at_the_first_refusal(encoder: Encoder, empty: EmbeddedStore) -> None:
    """What came before it is written, what comes after it is not read."""
    records: list[Paper | RecordError] = [*_papers(2), RecordError("f:3", "no id"), Paper("late", "Late")]
    refused: list[RecordError] = []
    with pytest.raises(RecordError, match="f:3"):
        ingest(records, encoder, empty, on_reject=refused.append, on_progress=lambda _: None, strict=True)
    assert len(refused) == 1
    assert set(empty.get(["p0", "p1", "late"])) == {"p0", "p1"}


def test_a_deleted_record_leaves_the_store(encoder: Encoder, empty: EmbeddedStore) -> None:
    """A tombstone of a paper that was never there is no error."""
    _run([*_papers(2)], encoder, empty)
    report = _run([replace(_papers(1)[0], deleted=True), Paper("never", "Never", deleted=True)], encoder, empty)
    assert report.deleted == 1
    assert set(empty.get(["p0", "p1", "never"])) == {"p1"}


class Interrupted:
    """The encoder, with somebody who presses Ctrl-C after a number of papers."""

    def __init__(self, encoder: Encoder, after: int) -> None:
        self._encoder, self._after = encoder, after

    @property
    def model(self) -> str:
        return self._encoder.model

    def encode_papers(self, papers: Iterable[Paper]) -> Iterator[EncodedPaper]:
        yield from islice(self._encoder.encode_papers(papers), self._after)
        raise KeyboardInterrupt


def test_an_interrupt_keeps_what_was_encoded_and_a_second_run_continues(encoder: Encoder, empty: EmbeddedStore) -> None:
    """Also the papers of a batch that was not full."""
    papers = _papers(BATCH + 20)
    interrupted = Interrupted(encoder, BATCH + 10)
    first = ingest(papers, interrupted, empty, on_reject=lambda _: None, on_progress=lambda _: None)
    assert (first.interrupted, first.written) == (True, BATCH + 10)
    second = _run([*papers], encoder, empty)
    assert (second.interrupted, second.written) == (False, 10)


def test_progress_counts_only_what_the_store_acknowledged(encoder: Encoder, empty: EmbeddedStore) -> None:
    """At every report the papers are in the file."""
    behind: list[int] = []

    def progress(report: IngestReport) -> None:
        stored = empty.stats()["papers"]
        assert isinstance(stored, int)
        behind.append(stored - report.written)

    ingest([*_papers(BATCH * 2)], encoder, empty, on_reject=lambda _: None, on_progress=progress)
    assert behind
    assert min(behind) >= 0


def test_another_model_is_refused_before_anything_is_read(encoder: Encoder, empty: EmbeddedStore) -> None:
    """A store has one model, and the records are left for a run with the right one."""
    stored = next(iter(encoder.encode_papers(_papers(1))))
    empty.write([replace(stored, model="f" * 64)])

    def untouched() -> Iterator[Paper]:
        pytest.fail("a record was read")
        yield

    with pytest.raises(WrongModelError):
        ingest(untouched(), encoder, empty, on_reject=lambda _: None, on_progress=lambda _: None)


def test_no_thread_is_left_behind(encoder: Encoder, empty: EmbeddedStore) -> None:
    """Neither the reading nor the writing one."""
    before = threading.active_count()
    _run([*_papers(3)], encoder, empty)
    assert threading.active_count() == before


class Choosy:
    """The embedded store behind a door: refuses papers by their id, or everything from some write on."""

    def __init__(self, store: EmbeddedStore, refused: set[str], writes: int = 1000) -> None:
        self._store, self._refused, self.writes = store, refused, writes
        self.hurried = False

    def hurry(self) -> None:
        self.hurried = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def write(self, papers: Sequence[EncodedPaper]) -> int:
        self.writes -= 1
        if self.writes < 0:
            raise StoreError("the cluster is gone")
        written = self._store.write([paper for paper in papers if paper.paper.id not in self._refused])
        refused = {paper.paper.id: "no such year" for paper in papers if paper.paper.id in self._refused}
        if refused:
            raise PapersRefusedError("the store", refused, written)
        return written


def test_what_the_store_refuses_is_handed_on_as_a_whole_record(
    encoder: Encoder, empty: EmbeddedStore, tmp_path: Path
) -> None:
    """The others go in; corrected or not, the record can be ingested from the rejects file."""
    papers = [*_papers(3), Paper("full", "Title", "An abstract.", authors=("Ada",), year=2001, extra={"a": [1]})]
    refused: list[RecordError] = []
    choosy = Choosy(empty, {"p1", "full"})
    report = ingest(papers, encoder, choosy, on_reject=refused.append, on_progress=lambda _: None)
    assert (report.read, report.written, report.rejected) == (4, 2, 2)
    assert [(error.record_id, str(error)) for error in refused] == [
        ("p1", "paper p1: no such year"),
        ("full", "paper full: no such year"),
    ]
    with RejectsFile(tmp_path / "rejects.jsonl") as file:
        for error in refused:
            file.write(error)
    assert list(open_source(str(tmp_path / "rejects.jsonl"))) == [papers[1], papers[3]]


def test_strict_stops_at_what_the_store_refuses(encoder: Encoder, empty: EmbeddedStore) -> None:
    """Its neighbours are in the store."""
    with pytest.raises(RecordError, match="no such year"):
        ingest(
            _papers(3),
            encoder,
            Choosy(empty, {"p1"}),
            on_reject=lambda _: None,
            on_progress=lambda _: None,
            strict=True,
        )
    assert set(empty.hashes(["p0", "p1", "p2"])) == {"p0", "p2"}


def test_a_store_that_fails_is_not_asked_again(encoder: Encoder, empty: EmbeddedStore) -> None:
    """What is left is not tried: a cluster that is gone was waited for long enough; the next run continues."""
    gone = Choosy(empty, set(), writes=1)
    with pytest.raises(StoreError, match="gone"):
        ingest(_papers(3 * BATCH), encoder, gone, on_reject=lambda _: None, on_progress=lambda _: None)
    assert gone.writes == -1
    assert empty.stats()["papers"] == BATCH
    assert _run([*_papers(3 * BATCH)], encoder, empty).written == 2 * BATCH


def test_an_interrupt_hurries_the_store(encoder: Encoder, empty: EmbeddedStore) -> None:
    """It may be waiting for a cluster; a run that nobody interrupts gives it the time it wants."""
    store = Choosy(empty, set())
    ingest(_papers(2), encoder, store, on_reject=lambda _: None, on_progress=lambda _: None)
    assert not store.hurried
    interrupted = Interrupted(encoder, 1)
    ingest([Paper("late", "Late")], interrupted, store, on_reject=lambda _: None, on_progress=lambda _: None)
    assert store.hurried
