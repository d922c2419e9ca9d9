"""Retrieval quality on the development sets: nDCG@10 and R@100 of every channel, of λ fusion and of reranking.

    python benchmarks/quality.py --data ../shared/data [--sets med cisi] [--sweep]

Stores are kept under build/quality and filled once; queries are encoded once a set. `--sweep` prints λ by rerank
weight instead of the table of settings: that is where the defaults come from (docs/defaults.md).
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import ir_measures
from ir_measures import R, nDCG

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedQuery
from sciret.encoders.encoder import Encoder
from sciret.errors import RecordError
from sciret.retrieval.fusion import blend, fuse, rank
from sciret.retrieval.ingest import IngestReport, ingest
from sciret.retrieval.search import SearchOptions, ranking
from sciret.sources.reader import open_source

SETS = {
    "elife": ("elife.jsonl.gz", "dev_queries.jsonl.gz", "dev_qrels.tsv"),
    "cranfield": ("cranfield/corpus.jsonl.gz", "cranfield/queries.jsonl.gz", "cranfield/qrels.tsv"),
    "cisi": ("cisi/corpus.jsonl.gz", "cisi/queries.jsonl.gz", "cisi/qrels.tsv"),
    "med": ("med/corpus.jsonl.gz", "med/queries.jsonl.gz", "med/qrels.tsv"),
}
BASE = SearchOptions(k=100)
SETTINGS = {
    "bm25": replace(BASE, lambda_=0.0, rerank="none"),
    "tfidf": replace(BASE, lambda_=0.0, sparse="tfidf", rerank="none"),
    "dense": replace(BASE, sparse=None, rerank="none"),
    "dense + tfidf": replace(BASE, sparse="tfidf", rerank="none"),
    "dense + bm25": replace(BASE, rerank="none"),
    "dense + tfidf, transport": replace(BASE, sparse="tfidf"),
    "dense + bm25, single": replace(BASE, rerank="single"),
    "dense + bm25, attention": replace(BASE, rerank="attention"),
    "dense + bm25, transport (default)": BASE,
}
SWEEP = [(lambda_, weight) for lambda_ in (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9) for weight in (0.0, 0.1, 0.2, 0.3)]
"""λ and the weight of transport."""


@dataclass(frozen=True)
class Collection:
    store: EmbeddedStore
    queries: dict[str, EncodedQuery]
    qrels: list[ir_measures.Qrel]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--sweep", action="store_true")
    arguments = parser.parse_args()
    encoder = Encoder.open("default")
    collections = {name: load(arguments.data, name, encoder) for name in arguments.sets}
    print(f"{'nDCG@10 / R@100':36}", *(f"{name:>15}" for name in collections), f"{'average':>15}")
    if arguments.sweep:
        columns = [sweep(collection) for collection in collections.values()]
        for (lambda_, weight), *figures in zip(SWEEP, *columns, strict=True):
            show(f"λ {lambda_:.2f} weight {weight:.1f}", figures)
        return
    for label, options in SETTINGS.items():
        show(label, [measure(collection, options) for collection in collections.values()])


def show(label: str, figures: list[tuple[float, float]]) -> None:
    average = tuple(sum(column) / len(figures) for column in zip(*figures, strict=True))
    print(f"{label:36}", *(f"{ndcg:.4f} / {recall:.3f}".rjust(15) for ndcg, recall in (*figures, average)), flush=True)


def load(data: Path, name: str, encoder: Encoder) -> Collection:
    corpus, queries, qrels = (data / file for file in SETS[name])
    folder = Path("build/quality")
    folder.mkdir(parents=True, exist_ok=True)
    store = EmbeddedStore.open(folder / f"{name}.db", create=True)
    papers = open_source(str(corpus), title_from_abstract=True)  # med has no titles
    report = ingest(papers, encoder, store, on_reject=refused, on_progress=lambda so_far: progress(name, so_far))
    print(f"{name}: {report.read} papers, {report.rejected} refused, {report.written} written")
    judged = set()
    judgments = []
    for qid, paper, grade in rows(qrels):
        judged.add(qid)
        judgments.append(ir_measures.Qrel(qid, paper, int(grade)))
    with gzip.open(queries, "rt", encoding="utf-8") as lines:
        texts = {record["id"]: record["text"] for record in map(json.loads, lines) if record["id"] in judged}
    return Collection(store, {qid: encoder.encode_query(text) for qid, text in texts.items()}, judgments)


def rows(qrels: Path) -> Iterator[list[str]]:
    for line in qrels.read_text(encoding="utf-8").splitlines()[1:]:
        yield line.split("\t")


def refused(error: RecordError) -> None:
    print(f"  {error}")


def progress(name: str, report: IngestReport) -> None:
    if report.written % 1024 == 0:
        print(f"  {name}: {report.written} written, {report.written / report.seconds:.1f} a second", flush=True)


def measure(collection: Collection, options: SearchOptions) -> tuple[float, float]:
    ranked = {qid: ranking(collection.store, query, options) for qid, query in collection.queries.items()}
    return judge(collection, {qid: list(each.scored_ids()) for qid, each in ranked.items()})


def sweep(collection: Collection) -> list[tuple[float, float]]:
    """Every query is searched once: candidates and both sides of them do not depend on λ, nor on the weight."""
    runs: list[dict[str, list[tuple[str, float]]]] = [{} for _ in SWEEP]
    for qid, query in collection.queries.items():
        one = ranking(collection.store, query, BASE)
        assert one.matches is not None
        for run, (lambda_, weight) in zip(runs, SWEEP, strict=True):
            scores = blend(fuse(one.found.dense, one.found.sparse, lambda_), one.matches.similarity, weight)
            run[qid] = [(one.found.ids[i], float(scores[i])) for i in rank(scores, one.found.ids)[: BASE.k]]
    return [judge(collection, run) for run in runs]


def judge(collection: Collection, ranked: dict[str, list[tuple[str, float]]]) -> tuple[float, float]:
    run = [ir_measures.ScoredDoc(qid, *each) for qid, found in ranked.items() for each in found]
    figures = ir_measures.calc_aggregate([nDCG @ 10, R @ 100], collection.qrels, run)
    return figures[nDCG @ 10], figures[R @ 100]


if __name__ == "__main__":
    main()
