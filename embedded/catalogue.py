"""What every search needs to know of all live papers, held in memory and brought up to date from the file.

A paper is known by its `num` in the file and by its position here; positions are dense and ascend with the nums.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sciret.embedded.records import ids_as_json
from sciret.encoders.lexical import Collection, Floats, Integers, rounded

_ROW = np.dtype([("num", np.int64), ("words", np.int64), ("norm", np.float64)])

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The live papers at one generation of the file."""

    generation: int
    last_num: int
    """The highest num ever given: the index may still speak of papers up to it that are gone."""
    rows: npt.NDArray[np.void]  # [n] of _ROW

    @classmethod
    def empty(cls) -> Catalogue:
        return cls(0, 0, np.empty(0, _ROW))

    def refreshed(self, connection: sqlite3.Connection) -> Catalogue:
        """This one if the file has not changed, otherwise one that differs by what has come and gone."""
        generation, last_num = connection.execute("SELECT generation, last_num FROM state").fetchone()
        if generation == self.generation:
            return self
        new = "SELECT num, words, norm FROM papers WHERE num > ? ORDER BY num"
        added = np.fromiter(connection.execute(new, (self.last_num,)), _ROW)
        live = connection.execute("SELECT count(*) FROM papers").fetchone()[0]
        kept = self.rows
        if live < len(kept) + len(added):
            kept = kept[np.isin(self.nums, [num for (num,) in connection.execute("SELECT num FROM papers")])]
        return Catalogue(generation, last_num, np.concatenate((kept, added)))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nums(self) -> Integers:
        return self.rows["num"]  # [n]

    @property
    def norms(self) -> Floats:
        """Lengths of the papers' vectors of 1 + ln(count)."""
        return self.rows["norm"]  # [n]

    @cached_property
    def positions(self) -> Integers:
        """Position of each num; -1 where there is no live paper."""
        positions = np.full(self.last_num + 1, -1)
        positions[self.nums] = np.arange(len(self))
        return positions  # [last_num + 1]

    @cached_property
    def collection(self) -> Collection:
        return Collection(int(np.count_nonzero(self.rows["words"])), int(self.rows["words"].sum()))

    @cached_property
    def relative_lengths(self) -> Floats:
        """Number of words, as coarse as Lucene keeps it, by the average number."""
        lengths: Floats = rounded(self.rows["words"]) / self.collection.average
        return lengths  # [n]


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One generation of the file: a connection within a transaction, and the catalogue that goes with it."""

    connection: sqlite3.Connection
    catalogue: Catalogue

    def nums(self, ids: Sequence[str]) -> dict[str, int]:
        """Of those ids that there are, in the order given."""
        found = dict(
            self.connection.execute(
                "SELECT id, num FROM papers WHERE id IN (SELECT value FROM json_each(?))", (ids_as_json(ids),)
            )
        )
        return {paper_id: found[paper_id] for paper_id in ids if paper_id in found}

    def ids(self, nums: Integers) -> list[str]:
        """In the order given."""
        found = dict(
            self.connection.execute(
                "SELECT num, id FROM papers WHERE num IN (SELECT value FROM json_each(?))", (str(nums.tolist()),)
            )
        )
        return [found[num] for num in nums.tolist()]
