"""Exact scores of chosen papers on both sides, from their own rows: nothing is missing, nothing is approximate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sciret.embedded.catalogue import Snapshot
from sciret.embedded.contributions import matrix
from sciret.embedded.index import Contributions
from sciret.embedded.records import read
from sciret.encoded import EncodedQuery
from sciret.encoders.halves import given_cosines, matrices
from sciret.store import Completed


def complete(
    snapshot: Snapshot, query: EncodedQuery, ids: Sequence[str], found: Contributions, *, sentences: bool
) -> Completed:
    """A side that the query or a paper has no vector for is 0. Records are read now, so that `load` cannot miss one."""
    papers = read(snapshot.connection, ids)
    positions = snapshot.catalogue.positions[[paper.num for paper in papers]]
    cells = matrix(found.all, positions)  # [n, terms + keyphrases]
    dims = papers[0].dims if papers else 0
    return Completed(
        ids=tuple(paper.id for paper in papers),
        dense=given_cosines([paper.dense for paper in papers], query.dense),
        sparse=cells.sum(axis=1).astype(np.float32),
        terms=tuple(each.term for each in found.terms),
        keyphrases=tuple(each.term for each in found.keyphrases),
        contributions=cells.astype(np.float32),
        sentence_vectors=matrices([paper.sentence_vectors for paper in papers], dims) if sentences else (),
        load=lambda i: papers[i].decode(),
    )
