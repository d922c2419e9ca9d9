"""Collections under a CASPER checkpoint: sparse matrices, pruning, runs and paired tests, without a store between."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from quality import SETS
from scipy import sparse

from sciret.evaluation.measures import MEASURES, Values, measure
from sciret.evaluation.qrels import Qrels, read_qrels
from sciret.evaluation.significance import randomisation_p
from sciret.paper import Paper
from sciret.sources.reader import open_source
from sciret.training.casper import Casper
from sciret.training.casper_folder import open_casper
from sciret.training.reading import Reader, Texts

NDCG, RECALL = (list(MEASURES).index(name) for name in ("nDCG@10", "R@100"))
DEPTH = 100


@dataclass(frozen=True)
class Collection:
    name: str
    ids: list[str]
    papers: list[tuple[str, str]]
    queries: dict[str, str]
    qrels: Qrels


@dataclass(frozen=True)
class Vectors:
    """Not pruned. Rows are queries or papers, columns wordpieces and then keyphrases."""

    queries: sparse.csr_matrix  # [Q, V + K]
    papers: sparse.csr_matrix  # [P, V + K]
    words: int


@dataclass(frozen=True)
class Result:
    values: Values  # [Q, measures]
    features: float
    """Of a paper, on average: what an index holds as postings."""
    seconds: float
    """To score all queries against all papers."""


def load_collection(data: Path, name: str, limit: int) -> Collection:
    """Of a large collection, all judged papers and as many others as fit."""
    corpus, queries, qrels = (data / file for file in SETS[name])
    judgments = read_qrels(qrels)
    judged = {paper for of in judgments.values() for paper in of}
    found = [p for p in open_source(str(corpus), title_from_abstract=True) if isinstance(p, Paper)]
    others = [paper for paper in found if paper.id not in judged]
    kept = [paper for paper in found if paper.id in judged] + others
    kept = kept[: max(limit, len(kept) - len(others))] if limit else kept
    with gzip.open(queries, "rt", encoding="utf-8") as lines:
        texts = {row["id"]: row["text"] for row in map(json.loads, lines) if row["id"] in judgments}
    return Collection(name, [p.id for p in kept], [(p.title, p.abstract) for p in kept], texts, judgments)


def encode(run: Path, collection: Collection, batch: int) -> Vectors:
    """Once for a run and a collection: the matrices are kept beside the model."""
    cache = run / f"vectors-{collection.name}-{len(collection.ids)}"
    checkpoint = open_casper(str(run))
    casper = checkpoint.casper.eval()
    if not cache.with_suffix(".papers.npz").is_file():
        reader = Reader(checkpoint.tokenizer, casper.shape.query_length, casper.shape.document_length)
        texts = list(collection.queries.values())
        queries = (reader.queries(texts[i : i + batch]) for i in range(0, len(texts), batch))
        sparse.save_npz(cache.with_suffix(".queries.npz"), matrix(casper, queries))
        papers = (reader.papers(part) for part in parts(collection.papers, batch))
        sparse.save_npz(cache.with_suffix(".papers.npz"), matrix(casper, papers))
    both = (sparse.load_npz(cache.with_suffix(f".{side}.npz")) for side in ("queries", "papers"))
    return Vectors(*both, words=casper.backbone.decoder.out_features)


def parts(texts: Sequence[tuple[str, str]], size: int) -> Iterator[Sequence[tuple[str, str]]]:
    for first in range(0, len(texts), size):
        yield texts[first : first + size]


@torch.no_grad()
def matrix(casper: Casper, texts: Iterator[Texts]) -> sparse.csr_matrix:
    return sparse.vstack([sparse.csr_matrix(torch.cat(list(casper(*each)), dim=1).numpy()) for each in texts]).tocsr()


def evaluate(vectors: Vectors, collection: Collection, beta: float, mass: float, most: int = 256) -> Result:
    """As a search does it: both sides pruned, queries limited, tokens + β · keyphrases."""
    weights = np.ones(vectors.papers.shape[1], dtype=np.float32)
    weights[vectors.words :] = beta
    papers = pruned(vectors.papers, vectors.words, mass)
    queries = largest(pruned(vectors.queries, vectors.words, mass) @ sparse.diags(weights), most)
    began = time.perf_counter()
    scores = (queries @ papers.T).tocsr()
    seconds = time.perf_counter() - began
    run = {}
    for row, qid in enumerate(collection.queries):
        columns, values = row_of(scores, row)
        best = np.lexsort((columns, -values))[:DEPTH]
        run[qid] = {collection.ids[columns[i]]: float(values[i]) for i in best}
    return Result(measure(collection.qrels, run), papers.nnz / papers.shape[0], seconds)


def pruned(whole: sparse.csr_matrix, words: int, mass: float) -> sparse.csr_matrix:
    """Each part of each row to the fewest largest weights that hold the mass."""
    kept = np.zeros(whole.nnz, dtype=bool)
    for row in range(whole.shape[0]):
        first, end = whole.indptr[row], whole.indptr[row + 1]
        columns, values = whole.indices[first:end], whole.data[first:end]
        for part in (np.flatnonzero(columns < words), np.flatnonzero(columns >= words)):
            order = part[np.argsort(-values[part], kind="stable")]
            before = np.cumsum(values[order]) - values[order]
            kept[first + order[before < mass * values[part].sum()]] = True
    return without(whole, kept)


def largest(whole: sparse.csr_matrix, most: int) -> sparse.csr_matrix:
    whole = whole.tocsr()
    kept = np.zeros(whole.nnz, dtype=bool)
    for row in range(whole.shape[0]):
        first, end = whole.indptr[row], whole.indptr[row + 1]
        kept[first + np.argsort(-whole.data[first:end], kind="stable")[:most]] = True
    return without(whole, kept)


def without(whole: sparse.csr_matrix, kept: np.ndarray) -> sparse.csr_matrix:
    made = whole.copy()
    made.data = np.where(kept, made.data, 0)
    made.eliminate_zeros()
    return made


def row_of(scores: sparse.csr_matrix, row: int) -> tuple[np.ndarray, np.ndarray]:
    span = slice(scores.indptr[row], scores.indptr[row + 1])
    return scores.indices[span], scores.data[span]


def compared(result: Values, base: Values) -> str:
    """nDCG@10 with its difference from the base and the p of the paired test."""
    difference = result - base
    p = randomisation_p(difference[:, [NDCG]])[0]
    return f"{result[:, NDCG].mean():.4f} ({difference[:, NDCG].mean():+.4f}, p {p:.3f})"
