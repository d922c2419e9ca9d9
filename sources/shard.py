"""Shard: the part of a source that one of several machines takes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sciret.errors import RecordError, SettingsError
from sciret.paper import Paper


@dataclass(frozen=True, slots=True)
class Shard:
    """Number `number` of `of`, from 1. Every record is in exactly one of them, on every machine and in every run."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise SettingsError(f"--shard {text}: give I/N with I from 1 to N, such as 2/8 for the second of eight")
        return cls(int(match[1]), int(match[2]))

    def has(self, record_id: str) -> bool:
        """By a hash of the id: wherever in the source a record stands, and whatever else stands there."""
        digest = hashlib.blake2b(record_id.encode("utf-8", "surrogatepass"), digest_size=8, usedforsecurity=False)
        return int.from_bytes(digest.digest(), "big") % self.of == self.number - 1

    def select(self, records: Iterable[Paper | RecordError]) -> Iterator[Paper | RecordError]:
        """This shard's records. Refusals of what has no id are the first shard's: each is reported once."""
        for record in records:
            record_id = record.id if isinstance(record, Paper) else record.record_id
            if self.number == 1 if record_id is None else self.has(record_id):
                yield record
