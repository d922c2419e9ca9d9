"""Order: the field that tells what is new in an index, and what one pass by it reads and leaves to be remembered.

Changes do not become visible in the order of their values: two writers finish in another order than they began, and an
application may write a date minutes after it was true. So every order looks back a little, by its overlap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from sciret.connector.attachment import SEQ_NO, Progress
from sciret.connector.client import Client
from sciret.connector.existing import Existing
from sciret.errors import SettingsError

Kind = Literal["writes", "date", "number"]
DATES = ("date", "date_nanos")
NUMBERS = ("long", "integer", "short", "byte")
OVERLAPS: dict[Kind, str] = {"writes": "200", "number": "1000", "date": "5m"}
"""Writes that a primary shard has in hand at once are at most as many as its node has threads."""
CERTAIN = 60_000
"""Milliseconds after which a write that had begun is visible."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text: str) -> float:
    """`90s`, `5m`, `2h`, `1d`."""
    match = re.fullmatch(r"(\d{1,7}(?:\.\d{1,3})?)([smhd])", text.strip())
    if not match:
        raise SettingsError(f"{text!r} is no length of time: write it like 60s, 5m, 2h or 1d")
    return float(match[1]) * _UNITS[match[2]]


@dataclass(frozen=True, slots=True)
class Order:
    """A date, a number that grows, or the server's own numbers of writes."""

    field: str
    kind: Kind
    overlap: int
    """In milliseconds of a date, otherwise in numbers."""

    @classmethod
    def of(cls, field: str, existing: Existing, overlap: str | None = None) -> Order:
        kind = _kind(field, existing)
        given = overlap or OVERLAPS[kind]
        if kind == "date":
            return cls(field, kind, int(1000 * seconds(given)))
        if not re.fullmatch(r"\d{1,15}", given):
            raise SettingsError(f"--overlap {given}: {field} is a number, so give a number, such as {OVERLAPS[kind]}")
        return cls(field, kind, int(given))

    def begun(self, before: Progress, client: Client, now: int) -> Progress:
        """The pass to make at a time (in milliseconds): one that was broken off goes on, otherwise a new one begins."""
        if self.kind == "writes":
            back = 0 if before.sure else self.overlap
            return replace(before, positions={part: max(at - back, -1) for part, at in before.positions.items()})
        if before.until is not None:
            return before
        until = self._newest(client)
        if until is not None and self.kind == "date":
            # What is dated later than this may still come with a date from before it: it is read again next time.
            until = max(min(until, now - self.overlap), before.since if before.since is not None else -(2**62))
        return replace(before, until=until, positions={})

    def where(self, progress: Progress) -> dict[str, Any] | None:
        """The documents of the pass; None for all behind its positions."""
        if self.kind == "writes" or progress.since is None:
            return None
        if self.kind == "date":
            return {"range": {self.field: {"gt": progress.since, "format": "epoch_millis"}}}
        return {"range": {self.field: {"gt": progress.since - (0 if progress.sure else self.overlap)}}}

    def ended(self, before: Progress, progress: Progress, began: int) -> Progress:
        """When all documents of a pass that began then are settled."""
        if self.kind == "date":
            return Progress(since=before.since if progress.until is None else progress.until)
        since = None
        if self.kind == "number":
            since = before.since if progress.until is None else progress.until
            progress = replace(progress, positions={})
        if (since, progress.positions) != (before.since, before.positions) or before.reached is None:
            return Progress(since, positions=progress.positions, reached=began)
        return replace(before, sure=before.sure or began - before.reached >= CERTAIN)

    def without(self, client: Client) -> int:
        """Documents that have no value, and are therefore never seen to change."""
        if self.kind == "writes":
            return 0
        lacking = {"query": {"bool": {"must_not": [{"exists": {"field": self.field}}]}}}
        return int(client.call("POST", f"/{client.path}/_count", lacking)["count"])

    def _newest(self, client: Client) -> int | None:
        """The highest value that there is now."""
        by = {self.field: {"order": "desc", **({"numeric_type": "date"} if self.kind == "date" else {})}}
        body = {"size": 1, "query": {"exists": {"field": self.field}}, "sort": [by], "_source": False}
        options = {"allow_partial_search_results": "false"}
        hits = client.call("POST", f"/{client.path}/_search", body, params=options)["hits"]["hits"]
        return int(hits[0]["sort"][0]) if hits else None


def _kind(field: str, existing: Existing) -> Kind:
    if field == SEQ_NO:
        return "writes"
    found = existing.field_type(field)
    if found in DATES:
        return "date"
    if found in NUMBERS:
        return "number"
    known = ", ".join(existing.fields_of(*DATES, *NUMBERS)) or "none"
    what = f"is of type {found}" if found else "is not in its mapping"
    raise SettingsError(
        f"--by {field}: {existing.name} can be followed by a date or a whole number, and this {what}; "
        f"there are {known}, or leave --by out to go by {SEQ_NO}"
    )
