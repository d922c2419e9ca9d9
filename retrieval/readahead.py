"""ReadAhead: an iterator that is consumed in a thread of its own, a bounded number of items ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")
_POLL = 0.2
"""Seconds between looks at whether the other side is still there; only waited for when a queue is full or empty."""

_PATIENCE = 2.0
"""Seconds that a source gets to come back from what it is doing when it is no longer needed."""


class ReadAhead(Generic[T]):
    """`with ReadAhead(source, ahead=n) as items`: an error of the source ends the items, and is raised with the block.

    So what came before the error is used in full first.
    """

    def __init__(self, source: Iterable[T], *, ahead: int) -> None:
        self._source = source
        self._items: Queue[T] = Queue(ahead)
        self._stop = Event()
        self._done = Event()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="read-ahead", daemon=True)

    def __enter__(self) -> Iterator[T]:
        self._thread.start()
        return self._consume()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        # A source that waits for input, such as an open stdin, cannot be told: the thread then ends with the process.
        self._thread.join(_PATIENCE)
        if kind is None and self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            for item in self._source:
                if not self._put(item):
                    return
        except BaseException as error:  # carried over to the consuming thread, whatever it is
            self._error = error
        finally:
            self._done.set()

    def _put(self, item: T) -> bool:
        while not self._stop.is_set():
            try:
                self._items.put(item, timeout=_POLL)
                return True
            except Full:
                continue
        return False

    def _consume(self) -> Iterator[T]:
        while True:
            # `done` is read before the queue: an item put before `done` is then never missed.
            done = self._done.is_set()
            try:
                yield self._items.get(timeout=0 if done else _POLL)
            except Empty:
                if done:
                    return
