"""Exact scores of chosen papers on both sides, from their own rows: nothing is missing, nothing is approximate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sciret.embedded.catalogue import Snapshot
from sciret.embedded.index import Contributions
from sciret.embedded.records import read
from sciret.encoded import EncodedQuery
from sciret.encoders.halves import given_cosines, matrices
from sciret.encoders.sparse_side import Summands
from sciret.store import Completed


def complete(
    snapshot: Snapshot,
    query: EncodedQuery,
    ids: Sequence[str],
    found: Sequence[tuple[Contributions, float]],
    *,
    sentences: bool,
) -> Completed:
    """`found`: of each channel of the sparse side, with its share. A side that the query or a paper has no vector for
    is 0. Records are read now, so that `load` cannot miss one."""
    papers = read(snapshot.connection, ids)
    positions = snapshot.catalogue.positions[[paper.num for paper in papers]]
    sparse = Summands.together(((each.of(positions), share) for each, share in found), len(papers))
    dims = papers[0].dims if papers else 0
    return Completed(
        ids=tuple(paper.id for paper in papers),
        dense=given_cosines([paper.dense for paper in papers], query.dense),
        sparse=sparse.cells.sum(axis=1).astype(np.float32),
        terms=sparse.terms,
        tokens=sparse.tokens,
        keyphrases=sparse.keyphrases,
        contributions=sparse.cells.astype(np.float32),
        sentence_vectors=matrices([paper.sentence_vectors for paper in papers], dims) if sentences else (),
        load=lambda i: papers[i].decode(),
    )
