"""How far an ingest is: a bar on a terminal, a line every ten seconds into a log. Both on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from sciret.errors import RecordError
    from sciret.paper import Paper
    from sciret.retrieval.ingest import IngestReport

EVERY = 10.0
"""Seconds between two lines."""
_BLOCK = 1 << 20


class Progress(Protocol):
    def watch(self, records: Iterable[Paper | RecordError]) -> Iterator[Paper | RecordError]:
        """The same records, counted as they are read (in whatever thread reads them)."""

    def update(self, report: IngestReport) -> None:
        """After each batch that the store has acknowledged."""


@contextmanager
def progress(sources: Sequence[str], shards: int = 1) -> Iterator[Progress]:
    """The display that suits stderr. Of several shards one is read, which has about its share of the records."""
    total = count_records(sources) if sys.stderr.isatty() else None
    with counted_progress(None if total is None else total // shards) as shown:
        yield shown


@contextmanager
def counted_progress(total: int | None) -> Iterator[Progress]:
    """The same for records that somebody has counted already, or cannot."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    with _rich_progress() as bar:
        yield Bar(bar, total)


class _Counts:
    """What both displays say. Reading runs ahead of the rest, so rate and share are of records that are settled."""

    def __init__(self) -> None:
        self.begun = perf_counter()
        self.read = 0
        self.report: IngestReport | None = None
        """The one that the ingest keeps up to date, once it has shown it."""

    @property
    def settled(self) -> int:
        r = self.report
        return 0 if r is None else r.written + r.unchanged + r.deleted + r.rejected

    def __str__(self) -> str:
        written = 0 if self.report is None else self.report.written
        rate = self.settled / max(perf_counter() - self.begun, 1e-3)
        return f"{self.read:,} read, {written:,} written, {rate:.1f} papers/s"


class Lines:
    """One line when enough time has passed: a log stays readable, and shows that work goes on."""

    def __init__(self) -> None:
        self._counts = _Counts()
        self._last = self._counts.begun

    def watch(self, records: Iterable[Paper | RecordError]) -> Iterator[Paper | RecordError]:
        for self._counts.read, record in enumerate(records, start=1):
            self._tell()
            yield record

    def update(self, report: IngestReport) -> None:
        self._counts.report = report
        self._tell()

    def _tell(self) -> None:
        if perf_counter() - self._last >= EVERY:
            self._last = perf_counter()
            click.echo(f"sciret: {self._counts}", err=True)


class Bar:
    """Share, rate and time left where the number of records is known beforehand; count and rate otherwise."""

    def __init__(self, bar: RichProgress, total: int | None) -> None:
        self._bar = bar
        self._counts = _Counts()
        self._task: TaskID = bar.add_task("", total=total, counts=self._counts)  # read whenever it is drawn

    def watch(self, records: Iterable[Paper | RecordError]) -> Iterator[Paper | RecordError]:
        for self._counts.read, record in enumerate(records, start=1):
            self._bar.update(self._task, completed=self._counts.settled)
            yield record

    def update(self, report: IngestReport) -> None:
        self._counts.report = report
        self._bar.update(self._task, completed=self._counts.settled)


def _rich_progress() -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return Progress(
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn("{task.fields[counts]}", markup=False),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
    )


def count_records(sources: Sequence[str]) -> int | None:
    """Lines, where every source is a file of one record a line; None where that cannot be known in advance."""
    if not all(name.endswith((".jsonl", ".ndjson", ".csv", ".tsv")) and Path(name).is_file() for name in sources):
        return None
    return sum(_count_lines(Path(name)) for name in sources)


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))
