"""What is new, by the server's numbers of writes, by a date or by a number: nothing that comes late is missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pytest
from library import Library, documents

from sciret.connector.attachment import SEQ_NO, Progress
from sciret.connector.existing import inspect
from sciret.connector.order import CERTAIN, Order, seconds
from sciret.connector.reader import IndexReader
from sciret.errors import SettingsError

NOON = 1_718_020_800_000
"""2024-06-10T12:00:00Z, in milliseconds."""
MINUTE = 60_000


class Server(Protocol):
    @property
    def url(self) -> str: ...


@pytest.fixture
def library(opensearch: Server, unique_name: Callable[..., str]) -> Iterator[Library]:
    made = Library(opensearch.url, unique_name("library"))
    yield made
    made.client.close()


class Follower:
    """Passes by one order at times of our choosing, and what each of them read."""

    def __init__(self, library: Library, order: Order) -> None:
        self.library, self.order, self.progress = library, order, Progress()

    def once(self, now: int) -> set[str]:
        client = self.library.client
        progress = self.order.begun(self.progress, client, now)
        reader = IndexReader(
            client, inspect(client).parts, (), where=self.order.where(progress), positions=progress.positions
        )
        found = {document.id for document in reader}
        reached = {key: max(at, self.progress.positions.get(key, -1)) for key, at in reader.positions.items()}
        done = Progress(progress.since, progress.until, reached)
        self.progress = self.order.ended(self.progress, done, now)
        return found


def dated(number: int, minute: float) -> dict[str, dict[str, Any]]:
    return documents([number], updated_at=int(NOON + minute * MINUTE))


def test_writes(library: Library) -> None:
    """Once; the last ones of each shard again, until nobody has written anything for a while."""
    library.put(documents(range(20)))
    follower = Follower(library, Order.of(SEQ_NO, inspect(library.client), "3"))
    assert len(follower.once(NOON)) == 20
    assert len(follower.once(NOON + 1000)) == 6
    library.put(documents([3], kurz="new"))
    found = follower.once(NOON + 2000)
    assert "d3" in found
    assert len(found) <= 7
    assert "d3" in follower.once(NOON + 2000 + CERTAIN)  # one more time, to be sure
    assert follower.once(NOON + 3000 + CERTAIN) == set()
    library.put(documents([4], kurz="newer"))
    assert "d4" in follower.once(NOON + 4000 + CERTAIN)


def test_an_index_that_was_made_again_is_read_again(library: Library, opensearch: Server) -> None:
    library.put(documents(range(5)))
    follower = Follower(library, Order.of(SEQ_NO, inspect(library.client)))
    follower.once(NOON)
    library.client.call("DELETE", f"/{library.name}")
    again = Library(opensearch.url, library.name)
    again.put(documents(range(3)))
    assert follower.once(NOON + 10 * MINUTE) == {"d0", "d1", "d2"}
    again.client.close()


def test_dates(library: Library) -> None:
    """What is dated later than the last pass, and again what was dated shortly before it."""
    for number, minute in enumerate((-60, -30, -2)):
        library.put(dated(number, minute))
    follower = Follower(library, Order.of("updated_at", inspect(library.client)))
    assert follower.once(NOON) == {"d0", "d1", "d2"}
    assert follower.progress.since == NOON - 5 * MINUTE
    library.put(dated(3, -1))
    library.put(dated(4, -4))  # arrives four minutes late, with a date from before the first pass
    assert follower.once(NOON + 30_000) == {"d2", "d3", "d4"}
    follower.once(NOON + 10 * MINUTE)
    assert follower.once(NOON + 11 * MINUTE) == set()


def test_a_date_that_is_yet_to_come_hides_nothing(library: Library) -> None:
    library.put(dated(0, 60 * 24 * 365))
    follower = Follower(library, Order.of("updated_at", inspect(library.client)))
    follower.once(NOON)
    library.put(dated(1, 1))
    assert "d1" in follower.once(NOON + 2 * MINUTE)


def test_numbers(library: Library) -> None:
    library.put({**documents(range(5), revision=10), **documents([5], revision=20)})
    follower = Follower(library, Order.of("revision", inspect(library.client), "5"))
    assert len(follower.once(NOON)) == 6
    library.put(documents([6], revision=16))  # late
    library.put(documents([7], revision=21))
    assert follower.once(NOON + 1000) == {"d5", "d6", "d7"}
    assert follower.once(NOON + 2 * CERTAIN) == {"d5", "d7"}
    assert follower.once(NOON + 3 * CERTAIN) == set()


def test_documents_without_a_value_are_counted(library: Library) -> None:
    library.put({**documents([1], updated_at=NOON), **documents([2, 3])})
    existing = inspect(library.client)
    assert Order.of("updated_at", existing).without(library.client) == 2
    assert Order.of(SEQ_NO, existing).without(library.client) == 0


def test_an_empty_index(library: Library) -> None:
    """There is nothing to remember, and the first documents are found when they come."""
    follower = Follower(library, Order.of("updated_at", inspect(library.client)))
    assert follower.once(NOON) == set()
    library.put(dated(1, -60))
    assert follower.once(NOON + MINUTE) == {"d1"}


def test_a_pass_that_was_broken_off_goes_on(library: Library) -> None:
    """With the end that it had when it began."""
    order = Order("updated_at", "date", 0)
    broken = Progress(since=5, until=9, positions={"u/0": 3})
    assert order.begun(broken, library.client, NOON) is broken


@pytest.mark.parametrize("field", ["shelf", "nowhere"])
def test_fields_that_tell_nothing_are_refused(library: Library, field: str) -> None:
    with pytest.raises(SettingsError, match=r"there are revision, updated_at, or leave --by out"):
        Order.of(field, inspect(library.client))


def test_lengths_of_time() -> None:
    assert [seconds(text) for text in ("90s", "5m", "1.5h", "1d")] == [90, 300, 5400, 86400]
    for text in ("", "5", "5 minutes", "-1s"):
        with pytest.raises(SettingsError, match="60s, 5m"):
            seconds(text)


def test_an_overlap_is_of_the_same_kind_as_its_field(library: Library) -> None:
    existing = inspect(library.client)
    assert Order.of("updated_at", existing, "10m").overlap == 10 * MINUTE
    with pytest.raises(SettingsError, match="60s, 5m"):
        Order.of("updated_at", existing, "100")
    with pytest.raises(SettingsError, match="give a number"):
        Order.of("revision", existing, "10m")
