"""ReadAhead: order, bounds, errors and early ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from sciret.retrieval.readahead import ReadAhead


def test_items_come_in_order_and_all_of_them() -> None:
    """More items than the queue holds."""
    with ReadAhead(iter(range(1000)), ahead=3) as items:
        assert list(items) == list(range(1000))


def test_an_error_of_the_source_comes_after_everything_before_it_was_used() -> None:
    """The items end, and the error is raised where the block ends."""

    def source() -> Iterator[int]:
        yield 1
        raise ValueError("broken line")

    seen: list[int] = []

    def use() -> None:
        with ReadAhead(source(), ahead=3) as items:
            seen.extend(items)
            seen.append(2)

    with pytest.raises(ValueError, match="broken line"):
        use()
    assert seen == [1, 2]


def test_it_reads_no_further_ahead_than_it_may() -> None:
    """Memory stays bounded when the consumer is slow."""
    taken: list[int] = []
    full = threading.Event()

    def source() -> Iterator[int]:
        for i in range(100):
            taken.append(i)
            if i == 6:
                full.set()
            yield i

    with ReadAhead(source(), ahead=5) as items:
        next(items)
        assert full.wait(5)
        full.wait(0.1)
        assert len(taken) == 7  # one used, five queued, one in hand


def test_leaving_early_ends_the_thread() -> None:
    """An interrupted ingest leaves no thread behind that waits for ever."""
    before = threading.active_count()
    with ReadAhead(iter(range(10**9)), ahead=2) as items:
        next(items)
    assert threading.active_count() == before
