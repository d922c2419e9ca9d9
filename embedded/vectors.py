"""The k papers whose best vector comes nearest to a query: exact, and in memory at a quarter of the float32 size.

Every row is held as int8 with a scale of its own. A code is off by at most half a step, which by Cauchy and Schwarz
bounds the error of a coded cosine: papers whose upper bound stays below the k-th best lower bound cannot be among the
k best. Only the few hundred that remain are read from the file as they were stored and ranked by their exact cosines.
Dense vectors are the case of one row a paper, sentence vectors that of several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sciret.embedded.catalogue import Catalogue, Mask, Snapshot
from sciret.encoded import Vector
from sciret.encoders.halves import best_cosines, row_counts, to_vectors
from sciret.encoders.lexical import Floats, Integers

READ = 256
"""Papers decoded at once while loading."""
BLOCK = 1024
"""Rows scored at once: as float32 they stay in the processor's cache."""
SLACK = 1e-5
"""More than float32 can be off in a dot product of unit vectors."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Vectors as int8, those of a paper beside one another."""

    nums: Integers  # [rows] the paper of each row, ascending
    codes: npt.NDArray[np.int8]  # [rows, d]
    scales: Vector  # [rows] what a code of 1 stands for

    @classmethod
    def code(cls, nums: Integers, vectors: Vector) -> Rows:
        scales = np.abs(vectors).max(axis=1, initial=1e-9) / 127
        steps = vectors / scales[:, None]
        return cls(nums, np.rint(steps, out=steps).astype(np.int8), scales)

    @classmethod
    def join(cls, parts: Sequence[Rows]) -> Rows:
        return cls(
            np.concatenate([part.nums for part in parts]),
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.scales for part in parts]),
        )

    def only(self, kept: Mask) -> Rows:
        return Rows(self.nums[kept], self.codes[kept], self.scales[kept])

    @cached_property
    def starts(self) -> Integers:
        """The first row of each paper."""
        return np.flatnonzero(np.diff(self.nums, prepend=-1))  # [papers]

    def cosines(self, queries: Vector) -> Vector:
        """The highest of each row over the queries, as far as the codes can tell. queries: [q, d]"""
        products = np.empty(len(self.nums), np.float32)
        block = np.empty((BLOCK, queries.shape[1]), np.float32)
        for start in range(0, len(products), BLOCK):
            codes = self.codes[start : start + BLOCK]
            part = block[: len(codes)]
            part[:] = codes
            products[start : start + BLOCK] = (part @ queries.T).max(axis=1)
        return products * self.scales  # [rows]


class Vectors:
    """One table of vectors, loaded when it is first searched and then kept up to date."""

    def __init__(self, table: str) -> None:
        self._stored = f"SELECT num, vectors FROM {table} WHERE"  # noqa: S608  # a name from the schema
        self._catalogue = Catalogue.empty()
        self._rows = Rows.code(np.empty(0, np.int64), np.empty((0, 0), np.float32))

    def nearest(self, snapshot: Snapshot, queries: Vector, k: int, admitted: Mask) -> tuple[Integers, Floats]:
        """Of the admitted papers the k best and few more, as nums with their cosines. queries: [q, d]"""
        self._refresh(snapshot, queries.shape[1])
        starts = self._rows.starts
        if not len(starts):
            return np.empty(0, np.int64), np.empty(0)
        cosines = self._rows.cosines(queries)
        half_step = self._rows.scales / 2 * np.sqrt(queries.shape[1])  # [rows] L2 norm, at most
        slack = half_step * np.linalg.norm(queries, axis=1).max() + SLACK
        papers = self._rows.nums[starts]
        outside = ~admitted[snapshot.catalogue.positions[papers]]
        lower, upper = _highest(cosines - slack, starts), _highest(cosines + slack, starts)  # [papers]
        lower[outside] = upper[outside] = -np.inf
        floor = np.partition(lower, -k)[-k] if k < len(papers) else -np.inf
        papers = papers[(upper >= floor) & ~outside]
        return papers, self._exact(snapshot, papers, queries)

    def _exact(self, snapshot: Snapshot, nums: Integers, queries: Vector) -> Floats:
        chosen = f"{self._stored} num IN (SELECT value FROM json_each(?)) ORDER BY num"  # noqa: S608
        rows = snapshot.connection.execute(chosen, (str(nums.tolist()),))
        return best_cosines([blob for _, blob in rows], queries)  # [nums]

    def _refresh(self, snapshot: Snapshot, dims: int) -> None:
        catalogue = snapshot.catalogue
        if catalogue.generation == self._catalogue.generation:
            return
        alive = catalogue.positions[self._rows.nums] >= 0
        kept = self._rows if alive.all() else self._rows.only(alive)
        parts = [part for part in (kept, *self._added(snapshot, dims)) if len(part.nums)]
        self._rows = Rows.join(parts) if parts else kept
        self._catalogue = catalogue

    def _added(self, snapshot: Snapshot, dims: int) -> Iterator[Rows]:
        cursor = snapshot.connection.execute(f"{self._stored} num > ? ORDER BY num", (self._catalogue.last_num,))
        while batch := cursor.fetchmany(READ):
            nums, blobs = zip(*batch, strict=True)
            yield Rows.code(np.repeat(nums, row_counts(blobs, dims)), to_vectors(b"".join(blobs), dims))


def _highest(values: Vector, starts: Integers) -> Vector:
    """Of each paper's rows."""
    return values if len(starts) == len(values) else np.maximum.reduceat(values, starts)  # [papers]
