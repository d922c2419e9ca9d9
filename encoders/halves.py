"""Vectors as stores keep them: rows of half precision, two bytes a number."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from sciret.encoded import Vector
from sciret.errors import StoreError

FP16 = np.dtype("<f2")
LARGEST = float(np.finfo(np.float16).max)


def to_bytes(matrix: Vector, paper_id: str) -> bytes:
    """The rows one after the other. The paper is named where one of them cannot be kept."""
    if not np.abs(matrix).max(initial=0) <= LARGEST:  # NaN is not either
        raise StoreError(f"paper {paper_id!r}: a vector that is not finite; encode it again")
    return matrix.astype(FP16).tobytes()


def to_vectors(blob: bytes, dims: int) -> Vector:
    """The fp16 rows of one or several blobs, at a fifth of the time that `astype(float32)` takes.

    Widening a half as a signed integer puts its sign at the top; 13 bits further up its fraction is where a float
    has it. The copies of the sign in between are cleared, and what is left to mend is the bias of the exponent.
    """
    bits = np.frombuffer(blob, "<i2").astype(np.int32)
    bits <<= 13
    bits &= np.int32(-0x70000001)
    floats = bits.view(np.float32)
    floats *= np.float32(2.0**112)
    return floats.reshape(-1, dims)  # [n, d]


def row_counts(blobs: Sequence[bytes], dims: int) -> npt.NDArray[np.int64]:
    """Rows of each blob."""
    return np.array([len(blob) for blob in blobs], np.int64) // (FP16.itemsize * dims)


def best_cosines(blobs: Sequence[bytes], queries: Vector) -> npt.NDArray[np.float64]:
    """Highest cosine between any stored row of each paper and any query. queries: [q, d]

    Each is summed by itself, in float64: a matrix product adds up in an order that depends on a row's place, and
    papers with equal vectors would not be tied.
    """
    if not blobs:
        return np.empty(0)
    rows = to_vectors(b"".join(blobs), queries.shape[1]).astype(np.float64)  # [rows, d]
    cosines = np.max([(rows * query).sum(axis=1) for query in queries], axis=0)  # [rows]
    counts = row_counts(blobs, queries.shape[1])
    return np.maximum.reduceat(cosines, np.cumsum(counts) - counts)  # [papers]


def given_cosines(blobs: Sequence[bytes | None], query: Vector | None) -> Vector:
    """Cosine between each paper's one stored row and the query [d]; 0 where the query or the paper has no vector."""
    cosines = np.zeros(len(blobs), np.float32)
    if query is not None:
        given = [i for i, blob in enumerate(blobs) if blob is not None]
        cosines[given] = best_cosines([blob for blob in blobs if blob is not None], query[None])
    return cosines  # [n]


def matrices(blobs: Sequence[bytes | None], dims: int) -> tuple[Vector, ...]:
    """Each paper's rows, none where it has no vectors. Decoded all at once, then cut: a call a paper takes longer."""
    if not dims:
        return tuple(np.empty((0, 0), np.float32) for _ in blobs)
    filled = [blob or b"" for blob in blobs]
    whole = to_vectors(b"".join(filled), dims)  # [sum of S_i, d]
    ends = accumulate(row_counts(filled, dims).tolist(), initial=0)
    return tuple(whole[start:end] for start, end in pairwise(ends))  # n of [S_i, d]
