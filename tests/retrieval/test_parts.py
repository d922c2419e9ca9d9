"""An ingest in parts: whoever reads the source learns when everything that was read is settled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from library import QuickEncoder

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper
from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.retrieval.ingest import IngestReport
from sciret.retrieval.parts import added, ingest_in_parts


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[EmbeddedStore]:
    with EmbeddedStore.open(tmp_path / "papers.db", create=True) as store:
        yield store


def records(count: int) -> list[Paper | RecordError]:
    return [RecordError(f"f:{n}", "no title") if n % 5 == 4 else Paper(f"p{n}", f"Title {n}") for n in range(count)]


@pytest.mark.parametrize(("count", "parts"), [(0, 1), (9, 1), (10, 2), (25, 3)])
def test_all_that_was_read_is_settled_at_the_end_of_each_part(empty: EmbeddedStore, count: int, parts: int) -> None:
    """Written or refused; the last part says that it is the last, also where the one before it was full."""
    read = 0

    def source() -> Iterator[Paper | RecordError]:
        nonlocal read
        for record in records(count):
            read += 1
            yield record

    refused: list[RecordError] = []
    moments: list[tuple[int, int, bool]] = []

    def settled(complete: bool) -> None:
        moments.append((read, int(empty.stats()["papers"] or 0) + len(refused), complete))

    seen: list[IngestReport] = []
    report = ingest_in_parts(
        source(),
        QuickEncoder(),
        empty,
        on_settled=settled,
        on_reject=refused.append,
        on_progress=seen.append,
        size=10,
    )
    assert [read for read, _, _ in moments] == [kept for _, kept, _ in moments]
    assert [complete for _, _, complete in moments] == [False] * (parts - 1) + [True]
    assert (report.read, report.written, report.rejected) == (count, count - count // 5, count // 5)
    assert seen[-1].read == count
    assert [each.read for each in seen] == sorted(each.read for each in seen)


def test_a_part_that_is_interrupted_is_not_settled(empty: EmbeddedStore) -> None:
    """What was written of it is; where to go on is the end of the part before."""

    class Interrupted(QuickEncoder):
        def encode_papers(self, papers: Iterable[Paper]) -> Iterator[EncodedPaper]:
            for encoded in super().encode_papers(papers):
                yield encoded
                if encoded.paper.id == "p13":
                    raise KeyboardInterrupt

    moments: list[bool] = []
    report = ingest_in_parts(
        [Paper(f"p{n}", f"Title {n}") for n in range(30)],
        Interrupted(),
        empty,
        on_settled=moments.append,
        on_reject=lambda _: None,
        on_progress=lambda _: None,
        size=10,
    )
    assert report.interrupted
    assert moments == [False]
    assert report.written == empty.stats()["papers"] == 14


def test_reports_add_up() -> None:
    first = IngestReport(read=3, written=2, rejected=1, started=10.0, ended=12.0)
    second = IngestReport(read=4, unchanged=4, started=13.0, ended=15.0, interrupted=True)
    both = added(first, second)
    assert both == IngestReport(7, 2, 4, 0, 1, 0, True, 10.0, 15.0)
    assert both.seconds == 5.0
