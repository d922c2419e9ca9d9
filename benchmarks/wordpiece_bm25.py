"""BM25 over a bundle's wordpieces, those that its sparse vectors leave out left out: what learning has to beat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sciret.encoders.bundle import FEATURES, Bundle
from sciret.encoders.features import ARRAYS
from sciret.encoders.lexical import Collection, bm25, query_weights
from sciret.encoders.text import TextReader
from sciret.paper import Paper

DEPTH = 100


class WordpieceBM25:
    def __init__(self, bundle: Bundle, papers: Iterable[Paper]) -> None:
        self._reader = TextReader(bundle)
        self._weighs = np.load(bundle.path(FEATURES))[ARRAYS["tokens"]] > 0
        papers = list(papers)
        self._ids = np.array([paper.id for paper in papers])
        rows = [self._pieces(self._reader.read_paper(paper).ids) for paper in papers]
        lengths = np.array([len(row) for row in rows])
        owners = np.repeat(np.arange(len(rows)), lengths)
        shape = (len(rows), len(self._weighs))
        counts = sparse.csc_matrix((np.ones(len(owners)), (owners, np.concatenate(rows))), shape=shape)  # summed
        self._collection = Collection(int((lengths > 0).sum()), int(lengths.sum()))
        relative = lengths / self._collection.average
        self._weights = counts  # [P, V]
        self._weights.data = bm25(counts.data, relative[counts.indices])
        self._having = np.diff(counts.indptr)

    def rank(self, queries: Mapping[str, str]) -> dict[str, list[tuple[str, float]]]:
        return {qid: self._best(text) for qid, text in queries.items()}

    def _best(self, text: str) -> list[tuple[str, float]]:
        pieces, counts = np.unique(self._pieces(self._reader.read_query(text).ids), return_counts=True)
        known = self._having[pieces] > 0
        if not known.any():
            return []
        weights = query_weights("bm25", self._collection, self._having[pieces[known]], counts[known])
        scores = np.asarray(self._weights[:, pieces[known]] @ weights).ravel()
        order = np.lexsort((self._ids, -scores))[:DEPTH]
        return [(str(self._ids[i]), float(scores[i])) for i in order if scores[i] > 0]

    def _pieces(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return ids[self._weighs[ids]]
