"""Delivery: one chunk of a bulk write, sent until each of its documents is acknowledged or has a named failure."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event
from urllib.parse import quote

from opensearchpy import OpenSearch
from opensearchpy.exceptions import ConnectionError as BrokenConnection

from sciret.connector.backoff import Patience, Retries
from sciret.connector.bulk_answer import FILTER, Answer, no_answer, read_answer, reasons
from sciret.connector.concurrency import AdaptiveLimit
from sciret.connector.ndjson import MIMETYPE, Entry, body

_log = logging.getLogger(__name__)
_SHARD_TIMEOUT = "30s"
"""How long the server waits for a shard without a primary: less than we wait for the server, so that it can say so."""
_TRIES_AS_ONE = 3
"""Without an answer, before smaller parts are tried: some proxies break the connection where others say 413, and what
takes longer than we wait may be too much at once. Where the cluster was only away, this costs a few more requests."""
_POLL = 0.2
_ANY_STATUS = range(300, 600)
_DEAD = frozenset((502, 503, 504))


@dataclass(frozen=True, slots=True)
class BulkFailure:
    id: str
    status: int | None
    """The HTTP status of the document or of its request; None where no answer came, or where nothing was sent."""
    reason: str
    refused: bool
    """For what the document is: it would be refused again. Otherwise it may well be taken another time."""


@dataclass(slots=True)
class Outcome:
    acknowledged: int = 0
    absent: int = 0
    failures: list[BulkFailure] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        self.acknowledged += other.acknowledged
        self.absent += other.absent
        self.failures += other.failures

    def fail(self, entries: Sequence[Entry], status: int | None, reason: str, *, refused: bool = False) -> None:
        self.failures += [BulkFailure(entry.id, status, reason, refused) for entry in entries]


class Line:
    """What all chunks of a write share: the way to the server, and whether it is still worth trying."""

    def __init__(self, client: OpenSearch, index: str, limit: AdaptiveLimit, patience: Patience) -> None:
        self._transport = client.transport
        self._path = f"/{quote(index, safe='')}/_bulk"
        self.limit = limit
        self.patience = patience
        self.down = Event()
        """Set when somebody's patience ended: the others need not try theirs."""
        self.reason = "the write was broken off"

    def hang_up(self, reason: str) -> None:
        if not self.down.is_set():
            self.reason = reason
            self.down.set()

    def post(self, entries: Sequence[Entry], timeout: float) -> Answer:
        """One request on a connection of the pool: the transport would hide Retry-After and try anew at once."""
        connection = self._transport.get_connection()
        try:
            status, headers, text = connection.perform_request(
                "POST",
                self._path,
                {"timeout": _SHARD_TIMEOUT, "filter_path": FILTER},
                body(entries),
                timeout=timeout,
                ignore=_ANY_STATUS,
                headers={"content-type": MIMETYPE},
            )
        except BrokenConnection as error:  # also a timeout; whether the request was carried out cannot be known
            self._transport.mark_dead(connection)
            return no_answer(f"no answer: {error.error}")
        if status in _DEAD:
            self._transport.mark_dead(connection)
        else:
            self._transport.connection_pool.mark_live(connection)
        return read_answer(status, headers, text, len(entries))


class ChunkSize:
    """Bytes that a request may have; smaller once the server has refused one for its size."""

    def __init__(self, size: int) -> None:
        self.now = size

    def refused(self, size: int) -> None:
        self.now = min(self.now, max(size // 2, 1))


class Delivery:
    """Parts wait in a queue: a part is settled, or comes back to it as two halves or as what was not taken."""

    def __init__(self, line: Line, size: ChunkSize) -> None:
        self._line, self._size = line, size
        self._retries = Retries(line.patience)
        self._outcome = Outcome()

    def deliver(self, entries: Sequence[Entry]) -> Outcome:
        parts = deque([entries])
        while parts and not self._line.down.is_set():
            self._step(parts)
        for part in parts:
            self._outcome.fail(part, None, self._line.reason)
        return self._outcome

    def _step(self, parts: deque[Sequence[Entry]]) -> None:
        part = parts.popleft()
        if len(part) > 1 and _bytes(part) > self._size.now:  # another chunk has met the limit meanwhile
            parts.extendleft(_halves(part))
            return
        begun = time.monotonic()
        with self._line.limit.passage() as passage:
            if self._line.down.is_set():  # while we waited for our turn
                parts.appendleft(part)
                return
            answer = self._line.post(part, self._retries.answer_within)
            rest = self._settled(part, answer)
            passage.rejected = bool(rest) and answer.verdict in ("again", "items")
        if not rest:
            return
        smaller = answer.verdict == "split"
        if answer.verdict in ("again", "items"):
            self._wait(begun, answer)
            smaller = answer.status is None and self._retries.in_a_row >= _TRIES_AS_ONE
        parts.extendleft(_halves(rest) if smaller and len(rest) > 1 else (rest,))

    def _settled(self, part: Sequence[Entry], answer: Answer) -> Sequence[Entry]:
        """Book what the answer settles; what it leaves open."""
        match answer.verdict:
            case "items":
                return self._settle_items(part, answer)
            case "split":
                if answer.status == 413 and len(part) > 1:
                    self._size.refused(_bytes(part))
                if len(part) == 1:
                    self._outcome.fail(part, answer.status, answer.reason, refused=True)
                return part if len(part) > 1 else ()
            case "stop":
                self._line.hang_up(answer.reason)
        return part

    def _settle_items(self, part: Sequence[Entry], answer: Answer) -> Sequence[Entry]:
        rest: list[Entry] = []
        for entry, item in zip(part, answer.items, strict=True):
            if item.acknowledged:
                self._outcome.acknowledged += 1
            elif item.absent:
                self._outcome.absent += 1
            elif item.again:
                rest.append(entry)
            else:
                self._outcome.fail([entry], item.status, item.reason, refused=item.refused)
                if not item.refused:
                    self._line.hang_up(item.reason)
        if len(rest) < len(part):
            self._retries.succeeded()
        return rest

    def _wait(self, begun: float, answer: Answer) -> None:
        reason = answer.reason or reasons(answer.items)
        delay = self._retries.failed(begun, answer.retry_after)
        if delay is None:
            self._line.hang_up(reason)
        else:
            _log.info("bulk request: %s; again in %.1f s", reason, delay)
            self._sleep(delay)

    def _sleep(self, seconds: float) -> None:
        """Less where somebody else has given up, or has no time left."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._line.patience.over.is_set():
            if self._line.down.wait(min(left, _POLL)):
                return


def _bytes(part: Sequence[Entry]) -> int:
    return sum(len(entry.data) for entry in part)


def _halves(part: Sequence[Entry]) -> tuple[Sequence[Entry], Sequence[Entry]]:
    """The second one first: each is put at the head of the queue."""
    middle = len(part) // 2
    return part[middle:], part[:middle]
