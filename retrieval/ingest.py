"""The ingest path: reading, encoding and writing overlap; memory is bounded; a re-run continues where one stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from time import perf_counter
from typing import Protocol

from sciret.encoded import EncodedPaper
from sciret.errors import PapersRefusedError, RecordError, StoreError, WrongModelError
from sciret.paper import Paper
from sciret.retrieval.readahead import ReadAhead
from sciret.sources.rejects import refuse
from sciret.store import Store

BATCH = 64
"""Papers a transaction: a crash costs seconds of encoding, and commits cost next to nothing."""


class PaperEncoder(Protocol):
    @property
    def model(self) -> str: ...

    def encode_papers(self, papers: Iterable[Paper]) -> Iterator[EncodedPaper]: ...


@dataclass(slots=True)
class IngestReport:
    """Counts so far; `written` are acknowledged by the store and survive a crash."""

    read: int = 0
    written: int = 0
    unchanged: int = 0
    deleted: int = 0
    rejected: int = 0
    truncated: int = 0
    interrupted: bool = False
    started: float = 0.0
    ended: float = 0.0

    @property
    def seconds(self) -> float:
        return (self.ended or perf_counter()) - self.started


def ingest(
    records: Iterable[Paper | RecordError],
    encoder: PaperEncoder,
    store: Store,
    *,
    on_reject: Callable[[RecordError], None],
    on_progress: Callable[[IngestReport], None],
    strict: bool = False,
) -> IngestReport:
    """Every record is written, skipped as unchanged, deleted, or handed to `on_reject`: nothing is lost."""
    if store.model not in (None, encoder.model):
        raise WrongModelError("the store", store.model or "", encoder.model)
    report = IngestReport(started=perf_counter())
    on_progress(report)
    refusals = _Refusals(report, on_reject)
    # One thread owns the store, so that any Store will do, whatever it says about threads.
    with ThreadPoolExecutor(1, "store") as keeper:
        writer = _Writer(keeper, store, report, on_progress, refusals, strict)
        try:
            with ReadAhead(_fresh(records, keeper, store, report, refusals, strict), ahead=2 * BATCH) as papers:
                for encoded in encoder.encode_papers(papers):
                    writer.add(encoded)
        except KeyboardInterrupt:
            report.interrupted = True
            store.hurry()
        finally:
            writer.flush()
    report.ended = perf_counter()
    return report


def _fresh(
    records: Iterable[Paper | RecordError],
    keeper: ThreadPoolExecutor,
    store: Store,
    report: IngestReport,
    refusals: _Refusals,
    strict: bool,
) -> Iterator[Paper]:
    """The papers that need encoding. Runs in the reading thread."""
    stream = iter(records)
    while batch := list(islice(stream, BATCH)):
        papers, refused = _sort(batch, strict)
        report.read += len(papers) + len(refused)
        refusals.add(refused)
        gone = [paper.id for paper in papers if paper.deleted]
        if gone:
            report.deleted += keeper.submit(store.delete, gone).result()
        living = [paper for paper in papers if not paper.deleted]
        known = keeper.submit(store.hashes, [paper.id for paper in living]).result()
        changed = [paper for paper in living if known.get(paper.id) != paper.content_hash]
        report.unchanged += len(living) - len(changed)
        yield from changed
        if strict and refused:
            raise refused[0]


def _sort(batch: list[Paper | RecordError], strict: bool) -> tuple[list[Paper], list[RecordError]]:
    """What is accepted and what is refused; nothing that comes after a refusal when that ends the ingest."""
    papers: list[Paper] = []
    refused: list[RecordError] = []
    for record in batch:
        if isinstance(record, Paper):
            papers.append(record)
        else:
            refused.append(record)
            if strict:
                break
    return papers, refused


class _Refusals:
    """Counts refused records and hands them on, one at a time: the reading and the writing thread both have some."""

    def __init__(self, report: IngestReport, on_reject: Callable[[RecordError], None]) -> None:
        self._report, self._on_reject, self._lock = report, on_reject, Lock()

    def add(self, refused: Iterable[RecordError]) -> None:
        with self._lock:
            for error in refused:
                self._on_reject(error)
                self._report.rejected += 1


class _Writer:
    """Collects encoded papers and hands full batches to the store's thread, at most one ahead."""

    def __init__(
        self,
        keeper: ThreadPoolExecutor,
        store: Store,
        report: IngestReport,
        on_progress: Callable[[IngestReport], None],
        refusals: _Refusals,
        strict: bool,
    ) -> None:
        self._keeper, self._store, self._report, self._on_progress = keeper, store, report, on_progress
        self._refusals, self._strict = refusals, strict
        self._batch: list[EncodedPaper] = []
        self._pending: tuple[Sequence[EncodedPaper], Future[int]] | None = None

    def add(self, encoded: EncodedPaper) -> None:
        self._batch.append(encoded)
        if len(self._batch) == BATCH:
            self._settle()
            self._submit()

    def flush(self) -> None:
        """Write what is left and wait until everything is acknowledged."""
        self._settle()
        if self._batch:
            self._submit()
        self._settle()
        self._on_progress(self._report)

    def _submit(self) -> None:
        self._report.truncated += sum(encoded.truncated for encoded in self._batch)
        self._pending = (self._batch, self._keeper.submit(self._store.write, self._batch))
        self._batch = []

    def _settle(self) -> None:
        if self._pending is None:
            return
        papers, written = self._pending
        wait([written])  # if Ctrl-C comes here it is still pending, for `flush`
        self._pending = None
        try:
            self._report.written += written.result()
        except PapersRefusedError as error:
            self._report.written += error.written
            self._refuse([encoded.paper for encoded in papers], error.refused)
        except StoreError:
            self._batch = []  # `flush` would only wait for the same error again; the next run finds them missing
            raise
        self._on_progress(self._report)

    def _refuse(self, papers: Iterable[Paper], reasons: Mapping[str, str]) -> None:
        """Where in its source a paper stood is not known any more; the rejects file gets all of it."""
        refused = [
            refuse(f"paper {paper.id}", reasons[paper.id], paper.to_dict()) for paper in papers if paper.id in reasons
        ]
        self._refusals.add(refused)
        if self._strict:
            raise refused[0]
