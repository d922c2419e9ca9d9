"""Search by a paper and by some of its sentences, judged by co-citations: where the aspect weight comes from.

    python benchmarks/aspects.py --data ../shared/data [--pairs 200]

There is no development set with judged aspects. As a stand-in: two eLife papers are cited in one sentence, and the two
sentences of one that are nearest to the citing sentence are the query; the other paper is the only right answer. The
store is the one that quality.py has filled.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from math import log2
from pathlib import Path

import numpy as np

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedQuery
from sciret.encoders.encoder import Encoder
from sciret.encoders.query import paper_as_query
from sciret.retrieval.search import RERANK, Ranking, SearchOptions, ranking

WEIGHTS = (0.0, 0.1, 0.2, 0.5, 0.8, 1.0)
SENTENCES = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=200)
    arguments = parser.parse_args()
    gains: dict[str, list[float]] = defaultdict(list)
    with EmbeddedStore.open("build/quality/elife.db") as store:
        for query, answer in questions(arguments.data, store, arguments.pairs):
            for weight in WEIGHTS:
                gains[f"transport, weight {weight}"].append(gain(ranking(store, query, options(weight)), answer))
                whole = paper_as_query(store.get([query.like or ""])[query.like or ""])
                gains[f"whole paper, weight {weight}"].append(gain(ranking(store, whole, options(weight)), answer))
            for rerank in RERANK:
                if rerank not in ("transport", "none"):
                    chosen = replace(options(0.8), rerank=rerank)
                    gains[f"{rerank}, weight 0.8"].append(gain(ranking(store, query, chosen), answer))
    for name, values in sorted(gains.items()):
        print(f"{name:24} nDCG@10 {np.mean(values):.4f}  ({len(values)} queries)")


def options(weight: float) -> SearchOptions:
    return SearchOptions(k=10, rerank_weight=weight, aspect_weight=weight)


def questions(data: Path, store: EmbeddedStore, pairs: int) -> Iterator[tuple[EncodedQuery, str]]:
    """Both directions of each pair whose papers are in the store."""
    encoder = Encoder.open("default")
    with gzip.open(data / "elife_cocitations.jsonl.gz", "rt", encoding="utf-8") as lines:
        for _, line in zip(range(pairs), lines, strict=False):
            pair = json.loads(line)
            citing = encoder.encode_query(pair["contexts"][0]).sentence_vectors
            stored = store.get([pair["a"], pair["b"]])
            for one, other in ((pair["a"], pair["b"]), (pair["b"], pair["a"])):
                vectors = stored[one].sentence_vectors
                if citing is None or vectors is None:
                    raise SystemExit("the default model gives sentence vectors")
                nearest = np.argsort(-(vectors @ citing.T).max(axis=1), kind="stable")[:SENTENCES]
                yield paper_as_query(stored[one], [int(i) + 1 for i in nearest]), other


def gain(found: Ranking, answer: str) -> float:
    """nDCG@10 where one paper is right."""
    return sum(1 / log2(rank + 1) for rank, (paper_id, _) in enumerate(found.scored_ids(), 1) if paper_id == answer)


if __name__ == "__main__":
    main()
