"""Any index, read to its end in bounded memory, shard by shard, each in a point in time, or from where one stopped.

Documents come in the order of `_seq_no`, the number of their last write. A document that is written while it is read
gets a higher number and comes (again) later, so whoever continues behind a number has missed nothing, however long ago
that was and whatever became of the point in time.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from opensearchpy.exceptions import NotFoundError, OpenSearchException

from sciret.connector.backoff import Patience, persist
from sciret.connector.client import Client
from sciret.connector.existing import Part
from sciret.errors import StoreError

ABREAST = 4
"""Parts that are read at once, each a page ahead of its reader."""
PAGE_BYTES = 2 << 20
"""About as much as a page has."""
_PAGES = (100, 2000)
"""Documents of the first page, and of the largest."""
_KEEP_ALIVE = "5m"
"""Of a point in time, from one page to the next."""
_OLDEST = 900.0
"""Seconds after which a point in time is given up for a new one: while there is one, its server cannot remove the
segments of the index that were merged meanwhile."""
_TRIES = 5
"""Points in time that may be gone when they are asked for, one after the other."""

Clause = Mapping[str, Any]
Hits = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Document:
    """What the reader was asked for of one document."""

    id: str
    index: str
    source: Mapping[str, Any]


class IndexReader:
    """Iterate over it once. `positions` says, for each part, up to which number documents have been handed out."""

    def __init__(
        self,
        client: Client,
        parts: Sequence[Part],
        fields: Sequence[str],
        *,
        where: Clause | None = None,
        positions: Mapping[str, int] | None = None,
        page_bytes: int = PAGE_BYTES,
        patience: Patience | None = None,
    ) -> None:
        """`fields` are paths of `_source`; none of them means ids only. `positions` are those of an earlier reader."""
        known = positions or {}
        self.positions = {part.key: known.get(part.key, -1) for part in parts}
        self._parts = list(parts)
        self._shared = _Shared(client, list(fields), where, page_bytes, patience or Patience())

    def __iter__(self) -> Generator[Document, None, None]:
        parts = iter([_PartReader(self._shared, part, self.positions[part.key]) for part in self._parts])
        pool = ThreadPoolExecutor(ABREAST, "read")
        pages: deque[tuple[_PartReader, Future[Hits]]] = deque()
        try:
            for reader in (reader for _, reader in zip(range(ABREAST), parts, strict=False)):
                pages.append((reader, pool.submit(reader.page)))
            while pages:
                reader, page = pages.popleft()
                hits = page.result()
                upcoming = reader if hits else next(parts, None)
                if upcoming:
                    pages.append((upcoming, pool.submit(upcoming.page)))
                for hit in hits:
                    self.positions[reader.part.key] = hit["sort"][0]
                    yield Document(hit["_id"], hit["_index"], hit.get("_source", {}))
        finally:
            self._shared.ended.set()
            pool.shutdown(cancel_futures=True)
            for reader, _ in pages:
                reader.close()


@dataclass(frozen=True, slots=True)
class _Shared:
    """What the readers of all parts have in common."""

    client: Client
    fields: list[str]
    where: Clause | None
    page_bytes: int
    patience: Patience
    ended: Event = field(default_factory=Event)


class _PartReader:
    """The pages of one part, one after the other. One thread at a time."""

    def __init__(self, shared: _Shared, part: Part, position: int) -> None:
        self.part = part
        self._shared, self._position = shared, position
        self._size = _PAGES[0]
        self._pit: str | None = None
        self._opened = 0.0

    def page(self) -> Hits:
        """The next documents; none when all have been read, and the point in time is closed."""
        client = self._shared.client
        try:
            with client.explained():
                hits = persist(self._fetch, self._shared.patience)
        except BaseException:
            self.close()
            raise
        if hits:
            self._position = hits[-1]["sort"][0]
            self._size = page_size(hits, self._shared.page_bytes)
        else:
            self.close()
        return hits

    def _fetch(self) -> Hits:
        if self._pit and time.monotonic() - self._opened > _OLDEST:
            self.close()
        for _ in range(_TRIES):
            if self._pit is None:
                self._open()
            body = page_body(
                str(self._pit), self.part, self._position, self._size, self._shared.fields, self._shared.where
            )
            try:
                answer = self._request("POST", "/_search", {"allow_partial_search_results": "false"}, body)
            except NotFoundError as error:
                if "search_context_missing" not in str(error.info):
                    raise
                self._pit = None  # it expired, or its node is gone: a new one does as well
                continue
            self._pit = answer.get("pit_id") or self._pit
            found: Hits = answer["hits"]["hits"]
            return found
        raise StoreError(
            f"{self._shared.client.address}: a point in time of {self.part.index} is gone as soon as it is opened; "
            f"see the cluster's health and search.max_open_pit_context, then run the command again: it continues"
        )

    def _open(self) -> None:
        # The primary has every write first: no later one is seen without an earlier one.
        options = {
            "keep_alive": _KEEP_ALIVE,
            "preference": f"_shards:{self.part.shard}|_primary",
            "allow_partial_pit_creation": "false",
        }
        # By the name that was given: an alias may admit some documents only.
        answer = self._request("POST", f"/{self._shared.client.path}/_search/point_in_time", options)
        self._pit, self._opened = answer["pit_id"], time.monotonic()

    def _request(self, method: str, path: str, params: Mapping[str, Any], body: Any = None) -> Any:
        if self._shared.ended.is_set():
            raise StoreError(f"{self._shared.client.address}: the reader was closed")
        options = {**params, "request_timeout": self._shared.patience.answer}
        return self._shared.client.api.transport.perform_request(method, path, params=options, body=body)

    def close(self) -> None:
        """Let the server forget the point in time now, and not after some minutes."""
        if self._pit is None:
            return
        pit, self._pit = self._pit, None
        with suppress(OpenSearchException):  # it ends by itself
            self._shared.client.api.transport.perform_request(
                "DELETE", "/_search/point_in_time", params={"request_timeout": 10}, body={"pit_id": [pit]}
            )


def page_body(
    pit: str, part: Part, position: int, size: int, fields: Sequence[str], where: Clause | None
) -> dict[str, Any]:
    """The documents behind a position, in the order of their numbers."""
    clauses: list[Clause] = [{"term": {"_index": part.index}}, {"range": {"_seq_no": {"gt": position}}}]
    return {
        "pit": {"id": pit, "keep_alive": _KEEP_ALIVE},
        "size": size,
        "sort": [{"_seq_no": "asc"}],
        "query": {"bool": {"filter": [*clauses, *([where] if where else [])]}},
        "_source": list(fields) or False,
        "track_total_hits": False,
    }


def page_size(hits: Hits, page_bytes: int) -> int:
    """As many documents as make a page, going by those of the last one."""
    average = sum(len(json.dumps(hit.get("_source", {}))) + len(hit["_id"]) for hit in hits) / len(hits)
    return max(1, min(int(page_bytes / max(average, 1.0)), _PAGES[1]))
