"""Retrieval quality on the development sets: nDCG@10 and R@100 of every channel, of λ fusion and of reranking.

    python benchmarks/quality.py --data ../shared/data [--sets med cisi] [--sweep] [--model BUNDLE]

Stores are kept under build/quality and filled once; queries are encoded once a set. `--sweep` prints λ by rerank
weight instead of the table of settings: that is where the defaults come from (docs/defaults.md). A model that gives
sparse vectors adds rows for them and for both sparse sides together, and for BM25 over its wordpieces, and the p of
paired randomisation tests.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import ir_measures
import numpy as np
from ir_measures import R, nDCG

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedQuery
from sciret.encoders.bundle import load_bundle
from sciret.encoders.encoder import Encoder
from sciret.errors import RecordError
from sciret.evaluation.measures import Values
from sciret.evaluation.significance import randomisation_p
from sciret.paper import Paper
from sciret.retrieval.fusion import blend, fuse, rank
from sciret.retrieval.ingest import IngestReport, ingest
from sciret.retrieval.search import SearchOptions, best_sparse, ranking
from sciret.sources.reader import open_source
from sciret.store import SPARSE, Sparse

SETS = {
    "elife": ("elife.jsonl.gz", "dev_queries.jsonl.gz", "dev_qrels.tsv"),
    "cranfield": ("cranfield/corpus.jsonl.gz", "cranfield/queries.jsonl.gz", "cranfield/qrels.tsv"),
    "cisi": ("cisi/corpus.jsonl.gz", "cisi/queries.jsonl.gz", "cisi/qrels.tsv"),
    "med": ("med/corpus.jsonl.gz", "med/queries.jsonl.gz", "med/qrels.tsv"),
}
BASE = SearchOptions(k=100, sparse="bm25")
Ranked = dict[str, list[tuple[str, float]]]
"""Query id to papers and scores, best first."""
SETTINGS = {
    "bm25": replace(BASE, lambda_=0.0, rerank="none"),
    "tfidf": replace(BASE, lambda_=0.0, sparse="tfidf", rerank="none"),
    "dense": replace(BASE, sparse=None, rerank="none"),
    "dense + tfidf": replace(BASE, sparse="tfidf", rerank="none"),
    "dense + bm25": replace(BASE, rerank="none"),
    "dense + tfidf, transport": replace(BASE, sparse="tfidf"),
    "dense + bm25, single": replace(BASE, rerank="single"),
    "dense + bm25, attention": replace(BASE, rerank="attention"),
    "dense + bm25, transport": BASE,
}
LEARNED = {
    "casper": replace(BASE, lambda_=0.0, sparse="casper", rerank="none"),
    "dense + casper": replace(BASE, sparse="casper", rerank="none"),
    "dense + casper, transport": replace(BASE, sparse="casper"),
    "both": replace(BASE, lambda_=0.0, sparse="both", rerank="none"),
    "dense + both": replace(BASE, sparse="both", rerank="none"),
    "dense + both, transport (default)": replace(BASE, sparse="both"),
}
WORDPIECES = "wordpiece bm25"
COMPARED = [
    ("casper", "bm25"),
    ("casper", WORDPIECES),
    ("dense + casper", "dense + bm25"),
    ("dense + casper", "dense"),
    ("dense + casper, transport", "dense + bm25, transport"),
    ("both", "bm25"),
    ("both", "casper"),
    ("dense + both", "dense"),
    ("dense + both", "dense + bm25"),
    ("dense + both", "dense + casper"),
    ("dense + both, transport (default)", "dense + bm25, transport"),
]
SWEEP = [
    (lambda_, weight) for lambda_ in (0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9) for weight in (0.0, 0.1, 0.2, 0.3)
]
"""λ and the weight of transport."""


@dataclass(frozen=True)
class Collection:
    store: EmbeddedStore
    queries: dict[str, EncodedQuery]
    qrels: list[ir_measures.Qrel]
    corpus: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--model", default="default", help="a bundle's name or folder")
    parser.add_argument("--sparse", choices=SPARSE, help="what --sweep is of; the default is that of searches")
    parser.add_argument("--casper-lambda", type=float, default=BASE.lambda_, help="λ of the rows with casper and both")
    arguments = parser.parse_args()
    encoder = Encoder.open(arguments.model)
    collections = {name: load(arguments.data, name, encoder) for name in arguments.sets}
    print(f"{'nDCG@10 / R@100':36}", *(f"{name:>15}" for name in collections), f"{'average':>15}")
    if arguments.sweep:
        chosen = [arguments.sparse or best_sparse(collection.store.channels) for collection in collections.values()]
        columns = [sweep(*each) for each in zip(collections.values(), chosen, strict=True)]
        for (lambda_, weight), *figures in zip(SWEEP, *columns, strict=True):
            show(f"λ {lambda_:.2f} weight {weight:.1f}", figures)
        return
    runs: dict[str, list[Ranked]] = {}
    for label, options in SETTINGS.items():
        runs[label] = [ranked(collection, options) for collection in collections.values()]
        show(label, [judge(*pair) for pair in zip(collections.values(), runs[label], strict=True)])
    if encoder.bundle.sparse is None:
        return
    runs[WORDPIECES] = [by_wordpieces(collection, encoder) for collection in collections.values()]
    show(WORDPIECES, [judge(*pair) for pair in zip(collections.values(), runs[WORDPIECES], strict=True)])
    for label, options in LEARNED.items():
        chosen = replace(options, lambda_=arguments.casper_lambda if options.lambda_ else 0.0)
        runs[label] = [ranked(collection, chosen) for collection in collections.values()]
        show(label, [judge(*pair) for pair in zip(collections.values(), runs[label], strict=True)])
    compare(collections, runs)


def compare(collections: dict[str, Collection], runs: dict[str, list[Ranked]]) -> None:
    """Differences in nDCG@10 with the p of the paired test, by set; the last column is the mean of the sets."""
    print(f"\n{'difference in nDCG@10 (p)':62}", *(f"{name:>16}" for name in collections), f"{'average':>9}")
    for label, base in COMPARED:
        cells, means = [], []
        for collection, one, other in zip(collections.values(), runs[label], runs[base], strict=True):
            difference = by_query(collection, one) - by_query(collection, other)
            means.append(difference.mean())
            cells.append(f"{means[-1]:+.4f} ({randomisation_p(difference)[0]:.3f})".rjust(16))
        print(f"{f'{label} - {base}':62}", *cells, f"{np.mean(means):+9.4f}", flush=True)


def show(label: str, figures: list[tuple[float, float]]) -> None:
    average = tuple(sum(column) / len(figures) for column in zip(*figures, strict=True))
    print(f"{label:36}", *(f"{ndcg:.4f} / {recall:.3f}".rjust(15) for ndcg, recall in (*figures, average)), flush=True)


def load(data: Path, name: str, encoder: Encoder) -> Collection:
    corpus, queries, qrels = (data / file for file in SETS[name])
    shipped = load_bundle("default").fingerprint == encoder.model
    folder = Path("build/quality", "" if shipped else encoder.model[:12])
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
    return Collection(store, {qid: encoder.encode_query(text) for qid, text in texts.items()}, judgments, str(corpus))


def rows(qrels: Path) -> Iterator[list[str]]:
    for line in qrels.read_text(encoding="utf-8").splitlines()[1:]:
        yield line.split("\t")


def refused(error: RecordError) -> None:
    print(f"  {error}")


def progress(name: str, report: IngestReport) -> None:
    if report.written % 1024 == 0:
        print(f"  {name}: {report.written} written, {report.written / report.seconds:.1f} a second", flush=True)


def ranked(collection: Collection, options: SearchOptions) -> Ranked:
    found = {qid: ranking(collection.store, query, options) for qid, query in collection.queries.items()}
    return {qid: list(each.scored_ids()) for qid, each in found.items()}


def by_wordpieces(collection: Collection, encoder: Encoder) -> Ranked:
    from wordpiece_bm25 import WordpieceBM25

    papers = open_source(collection.corpus, title_from_abstract=True)
    scorer = WordpieceBM25(encoder.bundle, (paper for paper in papers if isinstance(paper, Paper)))
    return scorer.rank({qid: query.text for qid, query in collection.queries.items()})


def sweep(collection: Collection, sparse: Sparse) -> list[tuple[float, float]]:
    """Every query is searched once: candidates and both sides of them do not depend on λ, nor on the weight."""
    runs: list[Ranked] = [{} for _ in SWEEP]
    for qid, query in collection.queries.items():
        one = ranking(collection.store, query, replace(BASE, sparse=sparse))
        assert one.matches is not None
        for run, (lambda_, weight) in zip(runs, SWEEP, strict=True):
            scores = blend(fuse(one.found.dense, one.found.sparse, lambda_), one.matches.similarity, weight)
            run[qid] = [(one.found.ids[i], float(scores[i])) for i in rank(scores, one.found.ids)[: BASE.k]]
    return [judge(collection, run) for run in runs]


def judge(collection: Collection, found: Ranked) -> tuple[float, float]:
    figures = ir_measures.calc_aggregate([nDCG @ 10, R @ 100], collection.qrels, scored(found))
    return figures[nDCG @ 10], figures[R @ 100]


def by_query(collection: Collection, found: Ranked) -> Values:
    """nDCG@10 [Q, 1], queries in the order of the judgments."""
    rows = {qid: number for number, qid in enumerate(dict.fromkeys(qrel.query_id for qrel in collection.qrels))}
    values = np.zeros((len(rows), 1))
    for each in ir_measures.iter_calc([nDCG @ 10], collection.qrels, scored(found)):
        values[rows[each.query_id]] = each.value
    return values


def scored(found: Ranked) -> list[ir_measures.ScoredDoc]:
    return [ir_measures.ScoredDoc(qid, *each) for qid, papers in found.items() for each in papers]


if __name__ == "__main__":
    main()
