"""Exact scores of chosen papers on both sides, from their own rows: nothing is missing, nothing is approximate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from sciret.embedded.catalogue import Snapshot
from sciret.embedded.lexical import Contribution, matrix
from sciret.embedded.records import Stored, read
from sciret.encoded import EncodedQuery, Vector
from sciret.encoders.halves import FP16, best_cosines, to_vectors
from sciret.store import Completed


def complete(
    snapshot: Snapshot, query: EncodedQuery, ids: Sequence[str], words: Sequence[Contribution], *, sentences: bool
) -> Completed:
    """A side that the query or a paper has no vector for is 0. Records are read now, so that `load` cannot miss one."""
    papers = read(snapshot.connection, ids)
    positions = snapshot.catalogue.positions[[paper.num for paper in papers]]
    cells = matrix(words, positions)  # [n, terms]
    return Completed(
        ids=tuple(paper.id for paper in papers),
        dense=_dense(papers, query.dense),
        sparse=cells.sum(axis=1).astype(np.float32),
        terms=tuple(word.term for word in words),
        contributions=cells.astype(np.float32),
        sentence_vectors=_sentence_vectors(papers) if sentences else (),
        load=lambda i: papers[i].decode(),
    )


def _dense(papers: Sequence[Stored], query: Vector | None) -> Vector:
    cosines = np.zeros(len(papers), np.float32)
    if query is not None:
        given = [i for i, paper in enumerate(papers) if paper.dense is not None]
        cosines[given] = best_cosines([blob for paper in papers if (blob := paper.dense) is not None], query[None])
    return cosines  # [n]


def _sentence_vectors(papers: Sequence[Stored]) -> tuple[Vector, ...]:
    """Decoded all at once, then cut: a call a paper would take longer than the decoding."""
    if not papers or not papers[0].dims:
        return tuple(np.empty((0, 0), np.float32) for _ in papers)
    blobs = [paper.sentence_vectors or b"" for paper in papers]
    matrix = to_vectors(b"".join(blobs), papers[0].dims)  # [sum of S_i, d]
    ends = accumulate((len(blob) // (FP16.itemsize * papers[0].dims) for blob in blobs), initial=0)
    return tuple(matrix[start:end] for start, end in pairwise(ends))  # n of [S_i, d]
