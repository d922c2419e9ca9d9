"""AdaptiveLimit: how many requests may be under way at once, learned from what the server takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class Passage:
    """One request's stay. Whoever finds that the server was overloaded says so by `rejected = True`."""

    __slots__ = ("begun", "rejected")

    def __init__(self, begun: int) -> None:
        self.begun = begun
        self.rejected = False


class AdaptiveLimit:
    """One more after each round of accepted requests, half as many after a rejection: as TCP shares a line.

    Requests that were under way together are often rejected together: they halve the limit once, not once each.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = float(most)
        self._under_way = 0
        self._cuts = 0
        self._changed = Condition()

    @property
    def now(self) -> int:
        return int(self._limit)

    @contextmanager
    def passage(self) -> Iterator[Passage]:
        """Waits for its turn. An exception counts neither way."""
        with self._changed:
            self._changed.wait_for(lambda: self._under_way < self.now)
            self._under_way += 1
            passage = Passage(self._cuts)
        accepted = False
        try:
            yield passage
            accepted = not passage.rejected
        finally:
            with self._changed:
                self._under_way -= 1
                self._learn(passage, accepted)
                self._changed.notify_all()

    def _learn(self, passage: Passage, accepted: bool) -> None:
        if accepted:
            self._limit = min(self._limit + 1 / self._limit, float(self._most))
        elif passage.rejected and passage.begun == self._cuts:
            self._limit = max(self._limit / 2, 1.0)
            self._cuts += 1
