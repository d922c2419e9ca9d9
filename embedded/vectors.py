"""The k papers whose best vector comes nearest to a query: exact, and in memory at a quarter of the float32 size.

Every row is held as int8 with its own scale and the norm of what the coding lost. By Cauchy and Schwarz that norm
bounds the error of a coded cosine, so papers whose upper bound stays below the k-th best lower bound cannot be among
the k best. Only the few that remain are read from the file as they were stored and ranked by their exact cosines.
Dense vectors are the case of one row a paper, sentence vectors that of several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sciret.embedded.catalogue import Catalogue, Floats, Integers, Mask, Snapshot
from sciret.embedded.records import FP16, to_vectors
from sciret.encoded import Vector

READ = 1024
"""Papers decoded at once while loading."""
BLOCK = 1024
"""Rows scored at once: as float32 they stay in the processor's cache."""
SLACK = 1e-5
"""More than float32 can be off in a dot product of unit vectors."""


class Coded(NamedTuple):
    """Rows of vectors as int8."""

    nums: Integers  # [rows] the paper of each row, ascending
    codes: npt.NDArray[np.int8]  # [rows, d]
    scales: Vector  # [rows] what a code of 1 stands for
    errors: Vector  # [rows] L2 norm of row - scale * codes


class Vectors:
    """One table of vectors, loaded when it is first searched and then kept up to date."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._catalogue = Catalogue.empty()
        self._rows = _nothing(0)

    def nearest(self, snapshot: Snapshot, queries: Vector, k: int, admitted: Mask) -> tuple[Integers, Floats]:
        """Of the admitted papers the k best and few more, as nums with their cosines. queries: [q, d]"""
        rows = self._refreshed(snapshot, queries.shape[1])
        starts = np.flatnonzero(np.diff(rows.nums, prepend=-1))  # [papers] first row of each
        if not len(starts):
            return np.empty(0, np.int64), np.empty(0)
        cosines = _coded_cosines(rows, queries)
        slack = rows.errors * np.linalg.norm(queries, axis=1).max() + SLACK
        papers = rows.nums[starts]
        inside = admitted[snapshot.catalogue.positions[papers]]
        lower = np.maximum.reduceat(cosines - slack, starts)[inside]
        upper = np.maximum.reduceat(cosines + slack, starts)[inside]
        papers = papers[inside]
        if len(papers) > k:
            papers = papers[upper >= np.partition(lower, -k)[-k]]
        return papers, self._exact(snapshot, papers, queries)

    def _exact(self, snapshot: Snapshot, nums: Integers, queries: Vector) -> Floats:
        stored = f"SELECT vectors FROM {self._table} WHERE num IN (SELECT value FROM json_each(?)) ORDER BY num"
        blobs = [blob for (blob,) in snapshot.connection.execute(stored, (str(nums.tolist()),))]
        return best_cosines(blobs, queries)  # [nums]

    def _refreshed(self, snapshot: Snapshot, dims: int) -> Coded:
        catalogue = snapshot.catalogue
        if catalogue.generation != self._catalogue.generation:
            parts = [_without_dead(self._rows, catalogue), *self._added(snapshot, dims)]
            full = [part for part in parts if len(part.nums)] or [_nothing(dims)]
            self._rows = Coded(*(np.concatenate(columns) for columns in zip(*full, strict=True)))
            self._catalogue = catalogue
        return self._rows

    def _added(self, snapshot: Snapshot, dims: int) -> Iterator[Coded]:
        stored = f"SELECT num, vectors FROM {self._table} WHERE num > ? ORDER BY num"
        cursor = snapshot.connection.execute(stored, (self._catalogue.last_num,))
        while batch := cursor.fetchmany(READ):
            nums, blobs = zip(*batch, strict=True)
            yield _coded(np.repeat(nums, _counts(blobs, dims)), to_vectors(b"".join(blobs), dims))


def best_cosines(blobs: Sequence[bytes], queries: Vector) -> Floats:
    """Highest cosine between any stored row of each paper and any query. queries: [q, d]

    Each is summed by itself, in float64: a matrix product adds up in an order that depends on a row's place, and
    papers with equal vectors would not be tied.
    """
    if not blobs:
        return np.empty(0)
    dims = queries.shape[1]
    rows = to_vectors(b"".join(blobs), dims).astype(np.float64)  # [rows, d]
    cosines = np.max([(rows * query).sum(axis=1) for query in queries], axis=0)  # [rows]
    counts = _counts(blobs, dims)
    return np.maximum.reduceat(cosines, np.cumsum(counts) - counts)  # [papers]


def _counts(blobs: Sequence[bytes], dims: int) -> Integers:
    return np.array([len(blob) for blob in blobs]) // (FP16.itemsize * dims)


def _coded(nums: Integers, rows: Vector) -> Coded:
    scales = np.abs(rows).max(axis=1, initial=1e-9) / 127
    codes = np.rint(rows / scales[:, None])
    errors = np.linalg.norm(rows - codes * scales[:, None], axis=1)
    return Coded(nums, codes.astype(np.int8), scales, errors)


def _nothing(dims: int) -> Coded:
    return _coded(np.empty(0, np.int64), np.empty((0, dims), np.float32))


def _without_dead(rows: Coded, catalogue: Catalogue) -> Coded:
    alive = catalogue.positions[rows.nums] >= 0
    return rows if alive.all() else Coded(*(column[alive] for column in rows))


def _coded_cosines(rows: Coded, queries: Vector) -> Vector:
    """The highest over the queries, as far as the codes can tell."""
    products = np.empty(len(rows.nums), np.float32)
    block = np.empty((BLOCK, queries.shape[1]), np.float32)
    for start in range(0, len(products), BLOCK):
        codes = rows.codes[start : start + BLOCK]
        part = block[: len(codes)]
        part[:] = codes
        products[start : start + BLOCK] = (part @ queries.T).max(axis=1)
    return products * rows.scales  # [rows]
