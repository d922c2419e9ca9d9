"""What was written to an index, in the order it was written: the feed that a migration copies from and catches up by.

Every write gets the next sequence number of its shard, an update a new one. So a page is "the next thousand numbers",
needs no point in time that could expire, goes on after any interruption, and whatever changes while it is read comes
up again further on. Only deletions leave no trace; `surplus` finds those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from sciret.connector.client import Client
from sciret.connector.documents import document_id
from sciret.errors import StoreError

PAGE = 1000
Reached = dict[int, int]
"""Shard to the last sequence number that was read of it."""


class Changes:
    """Iterating gives the ids that were written since the last time; the first time, all that there are."""

    def __init__(self, client: Client, index: str) -> None:
        self._client, self._index = client, index
        self._reached: Reached = {}

    def __iter__(self) -> Iterator[Sequence[str]]:
        """In pages. Writes that come in meanwhile are for the next time, so this ends."""
        settled = settled_numbers(self._client, self._index)
        refresh(self._client, self._index)
        for shard, last in settled.items():
            while page := self._page(shard, last):
                yield [hit["fields"]["id"][0] for hit in page]
                self._reached[shard] = page[-1]["sort"][0]
            self._reached[shard] = last

    def count(self) -> int:
        """How many papers were written or changed since the last time; deletions are not seen here."""
        settled = settled_numbers(self._client, self._index)
        refresh(self._client, self._index)
        bodies = (({"query": self._newer(shard, last)}, shard) for shard, last in settled.items())
        return sum(
            int(self._client.call("POST", f"/{quote(self._index)}/_count", body, params=_shard(shard))["count"])
            for body, shard in bodies
        )

    def skip(self, reached: Reached) -> None:
        """Begin after these numbers."""
        self._reached = dict(reached)

    def _page(self, shard: int, last: int) -> list[dict[str, Any]]:
        body = {
            "query": self._newer(shard, last),
            "sort": [{"_seq_no": "asc"}],
            "size": PAGE,
            "_source": False,
            "docvalue_fields": ["id"],
            "track_total_hits": False,
        }
        answer = self._client.call("POST", f"/{quote(self._index)}/_search", body, params=_shard(shard))
        if answer["_shards"]["failed"] or answer["timed_out"]:
            raise StoreError(f"{self._index}: shard {shard} did not answer; run the same command again to continue")
        found: list[dict[str, Any]] = answer["hits"]["hits"]
        return found

    def _newer(self, shard: int, last: int) -> dict[str, Any]:
        return {"bool": {"filter": [{"range": {"_seq_no": {"gt": self._reached.get(shard, -1), "lte": last}}}]}}


def settled_numbers(client: Client, index: str) -> Reached:
    """Of each shard, the number up to which every write is done on all its copies and cannot be taken back."""
    answer = client.call("GET", f"/{quote(index)}/_stats/docs", params={"level": "shards"})
    (found,) = answer["indices"].values()
    return {
        int(number): int(copy["seq_no"]["global_checkpoint"])
        for number, copies in found["shards"].items()
        for copy in copies
        if copy["routing"]["primary"]
    }


def surplus(client: Client, index: str, original: str) -> Iterator[Sequence[str]]:
    """Ids of papers in an index that the original does not have (any more), in pages."""
    for page in Changes(client, index):
        wanted = {"ids": [document_id(paper_id) for paper_id in page]}
        answer = client.call("POST", f"/{quote(original)}/_mget", wanted, params={"_source": "false"})
        gone = [paper_id for paper_id, each in zip(page, answer["docs"], strict=True) if not each.get("found")]
        if gone:
            yield gone


def count(client: Client, index: str) -> int:
    """Papers, also those that were written a moment ago; nested sentences do not count."""
    refresh(client, index)
    return int(client.call("GET", f"/{quote(index)}/_count")["count"])


def refresh(client: Client, index: str) -> None:
    client.call("POST", f"/{quote(index)}/_refresh")


def _shard(number: int) -> dict[str, str]:
    """The primary: where copies follow by segments, they are behind it."""
    return {"preference": f"_shards:{number}|_primary"}
