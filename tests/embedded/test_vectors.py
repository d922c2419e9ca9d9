"""Vectors: exact answers from coded rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper, EncodedQuery, Vector
from sciret.paper import Paper
from sciret.store import Scope

DIMS = 24


def _crowded(rng: np.random.Generator, count: int) -> Vector:
    """Directions so close together that the codes alone could not order them; some have one dominating number."""
    rows = 1 + 0.02 * rng.standard_normal((count, DIMS))
    rows[::7, 0] += 30
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


@pytest.mark.parametrize("k", [1, 10, 2999])
@pytest.mark.parametrize("channel", ["dense", "sentence"])
def test_the_best_are_found_where_coding_loses_the_order(tmp_path: Path, channel: str, k: int) -> None:
    """Across several blocks of rows, with vectors whose cosines differ less than the codes can tell."""
    rng = np.random.default_rng(3)
    dense, sentences = _crowded(rng, 3000), _crowded(rng, 6000).reshape(3000, 2, DIMS)
    papers = [EncodedPaper(Paper(f"{i:04}", "x"), "m", dense[i], ("one", "two"), (), sentences[i]) for i in range(3000)]
    queries = _crowded(rng, 2)
    scores = {
        "dense": _halves(dense) @ queries[0].astype(np.float64),
        "sentence": (_halves(sentences) @ queries.T.astype(np.float64)).max(axis=(1, 2)),
    }[channel]
    expected = [f"{i:04}" for i in sorted(range(3000), key=lambda i: (-scores[i], i))[:k]]
    with EmbeddedStore.open(tmp_path / "store.db", create=True) as store:
        store.write(papers)
        query = EncodedQuery("", "m", queries[0], sentence_vectors=queries)
        found = store.candidates(query, [channel], k, Scope())  # type: ignore[list-item]
    by_id = dict(zip((p.paper.id for p in papers), scores, strict=True))
    np.testing.assert_allclose([by_id[i] for i in found], [by_id[i] for i in expected], rtol=0, atol=1e-12)


def _halves(rows: Vector) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return rows.astype(np.float16).astype(np.float64)
