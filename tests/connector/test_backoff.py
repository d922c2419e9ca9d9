"""Waits grow, are jittered, honour Retry-After, and end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Timer

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opensearchpy.exceptions import ConnectionError as BrokenConnection
from opensearchpy.exceptions import RequestError, TransportError

from sciret.connector.backoff import Patience, Retries, persist, retry_after_seconds

QUICK = Patience(tries=5, seconds=2, first=0.001, longest=0.01)


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@given(st.integers(1, 5000), st.floats(0, 1))
def test_a_wait_is_between_half_of_the_doubled_one_and_all_of_it(failures: int, chance: float) -> None:
    """And never longer than the longest, however often it failed."""
    patience = Patience(first=0.1, longest=15)
    whole = 15.0 if failures > 8 else 0.1 * 2 ** (failures - 1)
    assert whole / 2 <= patience.delay(failures, chance) <= whole


def test_patience_ends_after_so_many_tries_in_a_row() -> None:
    """The last of five tries is followed by no wait."""
    retries = Retries(QUICK, Clock(), lambda: 1.0)
    assert [retries.failed(100) for _ in range(5)] == [0.001, 0.002, 0.004, 0.008, None]


def test_a_success_starts_the_count_anew() -> None:
    """Both the tries and the time."""
    clock = Clock()
    retries = Retries(QUICK, clock, lambda: 1.0)
    for _ in range(4):
        assert retries.failed(clock.now) is not None
    clock.now += 60
    retries.succeeded()
    assert retries.failed(clock.now) == 0.001


def test_patience_ends_with_the_time() -> None:
    """Counted from the beginning of the request that failed first."""
    clock = Clock()
    retries = Retries(QUICK, clock, lambda: 1.0)
    clock.now += 1.9
    assert retries.failed(100) is not None
    clock.now += 0.1
    assert retries.failed(101.9) is None


def test_a_request_may_not_take_longer_than_what_is_left_of_the_time() -> None:
    """But always a second, since a last try that cannot succeed is none."""
    clock = Clock()
    retries = Retries(Patience(seconds=30, answer=20), clock)
    assert retries.answer_within == 20
    retries.failed(100)
    clock.now += 25
    assert retries.answer_within == 5
    clock.now += 25
    assert retries.answer_within == 1


def test_retry_after_is_waited_out() -> None:
    """Where it is longer than our own wait; shorter, ours counts."""
    retries = Retries(QUICK, Clock(), lambda: 1.0)
    assert retries.failed(100, retry_after=1.5) == 1.5
    assert retries.failed(100, retry_after=0) == 0.002


def test_a_retry_after_beyond_patience_ends_it() -> None:
    """To come back earlier would be to ignore it."""
    assert Retries(QUICK, Clock()).failed(100, retry_after=3600) is None


def test_retry_after_is_seconds_or_a_date() -> None:
    """A date that has passed means now; what cannot be read is as if it were not there."""
    now = datetime(2024, 6, 1, 12, tzinfo=UTC)
    assert retry_after_seconds("7") == 7
    assert retry_after_seconds("-7") == 0
    assert retry_after_seconds(format_datetime(now + timedelta(seconds=90), usegmt=True), now) == 90
    assert retry_after_seconds("Sat, 01 Jun 2024 12:00:30 -0000", now) == 30
    assert retry_after_seconds(format_datetime(now - timedelta(days=1), usegmt=True), now) == 0
    assert [retry_after_seconds(text) for text in (None, "", "soon")] == [None, None, None]


class Call:
    """Raises these errors one after the other, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    def __call__(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


def test_a_call_persists_through_what_passes() -> None:
    """Busy, no manager, a broken connection."""
    call = Call(TransportError(429, "busy"), TransportError(503, "no manager"), BrokenConnection("N/A", "reset", None))
    assert persist(call, QUICK) == "answer"


def test_a_call_does_not_persist_in_what_is_wrong() -> None:
    """A bad request stays one."""
    call = Call(RequestError(400, "wrong"), RequestError(400, "wrong"))
    with pytest.raises(RequestError):
        persist(call, QUICK)
    assert len(call.errors) == 1


def test_a_call_that_never_succeeds_ends_with_its_error() -> None:
    """After as many tries as patience has."""
    call = Call(*[TransportError(503, "no manager")] * 10)
    with pytest.raises(TransportError):
        persist(call, QUICK)
    assert len(call.errors) == 5


def test_patience_ends_when_somebody_has_no_time() -> None:
    """At once, though the wait would be long."""
    patience = Patience(first=60, longest=60)
    Timer(0.1, patience.over.set).start()
    call = Call(*[TransportError(503, "no manager")] * 10)
    with pytest.raises(TransportError):
        persist(call, patience)
    assert len(call.errors) == 8
