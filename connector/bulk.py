"""BulkWriter: documents into an index, in chunks, by several threads; nothing is lost and nothing is there twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

from opensearchpy import OpenSearch

from sciret.connector.backoff import Patience
from sciret.connector.concurrency import AdaptiveLimit
from sciret.connector.delivery import BulkFailure, ChunkSize, Delivery, Line, Outcome
from sciret.connector.ndjson import Entry, UnwritableError, delete_entry, index_entry, update_entry

__all__ = ["BulkFailure", "BulkReport", "BulkWriter"]

CHUNK_BYTES = 8 << 20
"""Hosted services refuse more than 10 MB."""
WORKERS = 4


@dataclass(frozen=True, slots=True)
class BulkReport:
    """Every document of a write is either acknowledged (it survives the death of a node) or has a failure here."""

    acknowledged: int
    failures: tuple[BulkFailure, ...]
    absent: int = 0
    """Of a deletion or an update: those that were not there."""


class BulkWriter:
    """Keeps between writes what it learned of the server: the size of a request and the number of them at once."""

    def __init__(
        self,
        client: OpenSearch,
        index: str,
        *,
        chunk_bytes: int = CHUNK_BYTES,
        workers: int = WORKERS,
        patience: Patience | None = None,
    ) -> None:
        self._client, self._index = client, index
        self.workers = workers
        self._patience = patience or Patience()
        self._limit = AdaptiveLimit(workers)
        self.size = ChunkSize(chunk_bytes)

    @property
    def concurrency(self) -> int:
        """Requests that may be under way now, at most `workers`."""
        return self._limit.now

    @property
    def chunk_bytes(self) -> int:
        """Bytes that a request may have now; a single document may have more."""
        return self.size.now

    def write(self, documents: Iterable[tuple[str, Mapping[str, Any]]]) -> BulkReport:
        """Insert or replace, each under its id; of documents with the same id the last one counts.

        Reads the documents as it goes, at most a chunk a worker ahead. Once the server has outlasted our patience,
        what is left is not tried any more, and every document of it is a failure.
        """
        return self._run((document_id, partial(index_entry, document_id, source)) for document_id, source in documents)

    def update(self, changes: Iterable[tuple[str, Mapping[str, Any]]]) -> BulkReport:
        """Change documents that there are; the others are absent, and stay so. Sent twice, a change is made twice."""
        return self._run((document_id, partial(update_entry, document_id, change)) for document_id, change in changes)

    def delete(self, ids: Iterable[str]) -> BulkReport:
        """Remove the documents with these ids. What is sent twice, since an answer was lost, is absent then."""
        return self._run((document_id, partial(delete_entry, document_id)) for document_id in ids)

    def _run(self, actions: Iterable[tuple[str, Callable[[], Entry]]]) -> BulkReport:
        line = Line(self._client, self._index, self._limit, self._patience)
        with ThreadPoolExecutor(self.workers, "bulk") as pool:
            run = _Run(self, line, pool)
            try:
                for document_id, make in actions:
                    run.add(document_id, make)
                return run.finish()
            except BaseException:
                line.hang_up("the write was broken off")  # so that nobody sleeps on while the pool waits for them
                raise


class _Run:
    """One write: the chunk in the making, and the chunks under way."""

    def __init__(self, writer: BulkWriter, line: Line, pool: ThreadPoolExecutor) -> None:
        self._writer, self._line, self._pool = writer, line, pool
        self._outcome = Outcome()
        self._chunk: dict[str, Entry] = {}
        self._size = 0
        self._under_way: dict[Future[Outcome], dict[str, Entry]] = {}

    def add(self, document_id: str, make: Callable[[], Entry]) -> None:
        try:
            entry = make()
        except UnwritableError as error:
            self._outcome.failures.append(BulkFailure(document_id, None, str(error), refused=True))
            return
        if self._is_under_way(document_id):
            # Chunks overtake each other, and so do documents that are sent again: the earlier one must settle first.
            self._send()
            self._settle(0)
        if self._size + len(entry.data) > self._writer.size.now:
            self._send()
        self._chunk[document_id] = entry
        self._size += len(entry.data)

    def finish(self) -> BulkReport:
        self._send()
        self._settle(0)
        return BulkReport(self._outcome.acknowledged, tuple(self._outcome.failures), self._outcome.absent)

    def _is_under_way(self, document_id: str) -> bool:
        return document_id in self._chunk or any(document_id in chunk for chunk in self._under_way.values())

    def _send(self) -> None:
        if not self._chunk:
            return
        self._settle(self._writer.workers - 1)
        delivery = Delivery(self._line, self._writer.size)
        self._under_way[self._pool.submit(delivery.deliver, list(self._chunk.values()))] = self._chunk
        self._chunk, self._size = {}, 0

    def _settle(self, most: int) -> None:
        """Wait until at most so many chunks are under way."""
        while len(self._under_way) > most:
            for future in wait(self._under_way, return_when=FIRST_COMPLETED).done:
                del self._under_way[future]
                self._outcome.add(future.result())
