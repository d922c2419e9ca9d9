"""The limit follows what the server takes, and is never exceeded."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sciret.connector.concurrency import AdaptiveLimit, Passage


def _one(limit: AdaptiveLimit, *, rejected: bool) -> None:
    with limit.passage() as passage:
        passage.rejected = rejected


def test_a_rejection_halves_it_down_to_one() -> None:
    """One request at a time is always allowed."""
    limit = AdaptiveLimit(8)
    seen = []
    for _ in range(5):
        _one(limit, rejected=True)
        seen.append(limit.now)
    assert seen == [4, 2, 1, 1, 1]


def test_a_round_of_accepted_requests_adds_one_up_to_the_most() -> None:
    """A round is as many requests as may be under way."""
    limit = AdaptiveLimit(4)
    for _ in range(3):
        _one(limit, rejected=True)
    counts = []
    for _ in range(12):
        _one(limit, rejected=False)
        counts.append(limit.now)
    assert counts[0] == 2
    assert counts == sorted(counts)
    assert counts[-1] == 4


def test_requests_that_are_rejected_together_halve_it_once() -> None:
    """They tell of the same moment."""
    limit = AdaptiveLimit(8)
    begun = threading.Barrier(8)

    def one(_: int) -> None:
        with limit.passage() as passage:
            begun.wait(10)
            passage.rejected = True

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(8)))
    assert limit.now == 4


def test_an_exception_frees_the_place_and_teaches_nothing() -> None:
    """A bug is neither a rejection nor a success."""
    limit = AdaptiveLimit(1)
    with pytest.raises(KeyError), limit.passage():
        raise KeyError
    _one(limit, rejected=False)
    assert limit.now == 1


def test_never_more_than_the_limit_are_under_way() -> None:
    """Also while it changes."""
    limit = AdaptiveLimit(4)
    lock, under_way, excess = threading.Lock(), 0, []

    def one(number: int) -> None:
        nonlocal under_way
        with limit.passage() as passage:
            with lock:
                under_way += 1
                excess.append(under_way - 4)
            _busy(passage, number)
            with lock:
                under_way -= 1

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(400)))
    assert max(excess) <= 0
    assert under_way == 0


def _busy(passage: Passage, number: int) -> None:
    passage.rejected = number % 7 == 0
    threading.Event().wait(0.0005)
