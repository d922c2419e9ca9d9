"""Which backbone should the default bundle have? nDCG@10 of the document vectors alone, and papers encoded a second.

    python benchmarks/backbones.py --data ../shared/data default build/minilm build/e5

Bundles are named as for --model; the model card of the default bundle has the figures and how the others were made.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sciret.encoded import Vector
from sciret.encoders.encoder import Encoder
from sciret.evaluation.measures import MEASURES, measure
from sciret.evaluation.qrels import Qrels, read_qrels
from sciret.paper import Paper

SETS = ("cranfield", "cisi", "med")
DEPTH = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("bundles", nargs="+")
    arguments = parser.parse_args()
    print(f"{'nDCG@10':24}", *(f"{name:>12}" for name in (*arguments.sets, "average", "papers/s")))
    for bundle in arguments.bundles:
        encoder = Encoder.open(bundle)
        figures, rates = zip(*(evaluate(encoder, arguments.data / name) for name in arguments.sets), strict=True)
        row = [f"{figure:.4f}" for figure in (*figures, np.mean(figures))] + [f"{np.mean(rates):.1f}"]
        print(f"{encoder.bundle.name:24}", *(cell.rjust(12) for cell in row), flush=True)


def evaluate(encoder: Encoder, collection: Path) -> tuple[float, float]:
    """nDCG@10, and papers encoded a second."""
    qrels = read_qrels(collection / "qrels.tsv")
    papers = [Paper(row["id"], row["title"], row["abstract"] or "") for row in rows(collection / "corpus.jsonl.gz")]
    start = time.perf_counter()
    vectors = np.stack([given(encoded.dense) for encoded in encoder.encode_papers(papers)])  # [n, d]
    rate = len(papers) / (time.perf_counter() - start)
    ids = [paper.id for paper in papers]
    run = {
        row["id"]: best(ids, vectors @ given(encoder.encode_query(row["text"]).dense))
        for row in rows(collection / "queries.jsonl.gz")
        if row["id"] in qrels
    }
    return ndcg(qrels, run), rate


def given(vector: Vector | None) -> Vector:
    if vector is None:
        raise SystemExit("a bundle without document vectors has no place in this comparison")
    return vector


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def best(ids: list[str], scores: Any) -> dict[str, float]:
    return {ids[place]: float(scores[place]) for place in np.argsort(-scores, kind="stable")[:DEPTH]}


def ndcg(qrels: Qrels, run: dict[str, dict[str, float]]) -> float:
    return float(measure(qrels, run)[:, list(MEASURES).index("nDCG@10")].mean())


if __name__ == "__main__":
    main()
