"""How often and how long a request is tried again, and how long to wait before each try."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Event
from typing import TypeVar

from opensearchpy.exceptions import ConnectionError as BrokenConnection
from opensearchpy.exceptions import TransportError

T = TypeVar("T")
_log = logging.getLogger(__name__)

RETRYABLE = frozenset((429, 502, 503, 504))
"""Answers that speak of the moment, not of the request: too busy, no manager elected, a proxy without a server."""


@dataclass(frozen=True, slots=True)
class Patience:
    """What is borne in a row; each success starts the count anew. The defaults outlast an election of a manager."""

    tries: int = 20
    seconds: float = 300.0
    """From the first failure in a row."""
    first: float = 0.1
    """Seconds before the second try; each further wait is twice as long, up to `longest`."""
    longest: float = 15.0
    answer: float = 60.0
    """Seconds that one request may take."""
    over: Event = field(default_factory=Event, compare=False, repr=False)
    """Set by somebody who cannot wait any longer, in whatever thread: the next failure is the last."""

    def delay(self, failures: int, chance: float) -> float:
        """Between half of the wait and all of it: clients that failed together do not come back together."""
        whole = min(self.longest, self.first * 2.0 ** min(failures - 1, 32))
        return whole * (0.5 + chance / 2)


class Retries:
    """The failures in a row of one piece of work."""

    def __init__(
        self,
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._patience, self._clock, self._chance = patience, clock, chance
        self.in_a_row = 0
        self._since = 0.0

    def succeeded(self) -> None:
        self.in_a_row = 0

    def failed(self, begun: float, retry_after: float | None = None) -> float | None:
        """Seconds to wait before the next try of what was `begun` then; None when patience is at its end.

        A server's Retry-After is waited out in full; where that is longer than patience lasts, there is no next try.
        """
        self.in_a_row += 1
        if self.in_a_row == 1:
            self._since = begun
        delay = max(self._patience.delay(self.in_a_row, self._chance()), retry_after or 0.0)
        if self.in_a_row >= self._patience.tries or delay >= self._left or self._patience.over.is_set():
            return None
        return delay

    @property
    def answer_within(self) -> float:
        """Seconds that the next request may take, so that the whole stays within bounds."""
        return min(self._patience.answer, max(self._left, 1.0)) if self.in_a_row else self._patience.answer

    @property
    def _left(self) -> float:
        return self._since + self._patience.seconds - self._clock()


def retry_after_seconds(header: str | None, now: datetime | None = None) -> float | None:
    """A Retry-After header, in seconds or as a date; None where there is none that can be read."""
    if not header:
        return None
    try:
        return max(float(int(header)), 0.0)
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max((date - (now or datetime.now(UTC))).total_seconds(), 0.0)


def persist(call: Callable[[], T], patience: Patience | None = None) -> T:
    """Call again while the cluster is busy, electing or away, then raise. For calls that may be made twice."""
    patience = patience or Patience()
    retries = Retries(patience)
    while True:
        begun = time.monotonic()
        try:
            return call()
        except TransportError as error:
            if not isinstance(error, BrokenConnection) and error.status_code not in RETRYABLE:
                raise
            delay = retries.failed(begun)
            if delay is None:
                raise
            _log.info("%s; again in %.1f s", error, delay)
        patience.over.wait(delay)
