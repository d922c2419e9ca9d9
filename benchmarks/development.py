"""Development sets for benchmarks: papers, queries and judgments; encoders of one precision; stores; runs compared."""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from quality import SETS

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.encoders.bundle import GRAPHS, Bundle, Precision, fingerprint
from sciret.encoders.encoder import Encoder
from sciret.encoders.session import open_session
from sciret.evaluation.measures import MEASURES, Values, measure
from sciret.evaluation.qrels import Qrels, read_qrels
from sciret.evaluation.runs import Run
from sciret.evaluation.significance import randomisation_p
from sciret.paper import Paper
from sciret.retrieval.search import SearchOptions, ranking
from sciret.sources.reader import open_source

NDCG = list(MEASURES).index("nDCG@10")
BATCH = 64


@dataclass(frozen=True)
class Collection:
    name: str
    papers: list[Paper]
    queries: dict[str, str]
    qrels: Qrels


def add_options(parser: argparse.ArgumentParser) -> None:
    """Those that choose collections."""
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["cranfield", "cisi", "med", "elife"])
    parser.add_argument("--papers", type=int, default=3_000, help="of elife: all judged ones, and others up to so many")
    parser.add_argument("--queries", type=int, default=400, help="of a set, at most")


def load_collection(data: Path, name: str, papers: int = 0, queries: int = 0) -> Collection:
    """All of it, or so many queries, and their judged papers with as many others as fit (of elife)."""
    corpus, asked, judged = (data / file for file in SETS[name])
    qrels = read_qrels(judged)
    with gzip.open(asked, "rt", encoding="utf-8") as lines:
        texts = {row["id"]: row["text"] for row in map(json.loads, lines) if row["id"] in qrels}
    texts = dict(list(texts.items())[: queries or None])
    qrels = {qid: qrels[qid] for qid in texts}
    found = [p for p in open_source(str(corpus), title_from_abstract=True) if isinstance(p, Paper)]
    wanted = {paper for of in qrels.values() for paper in of}
    found.sort(key=lambda paper: paper.id not in wanted)  # stable: judged ones first
    kept = found[: max(papers, len(wanted))] if papers and name == "elife" else found
    return Collection(name, kept, texts, qrels)


def one_precision(bundle: Bundle, precision: Precision) -> Bundle:
    """With that graph alone, which is then what an encoder takes."""
    others = [GRAPHS[other] for other in bundle.precisions if other != precision]
    files = {name: digest for name, digest in bundle.files.items() if name not in others}
    return replace(bundle, files=files, fingerprint=fingerprint(files))


def pruned_to(bundle: Bundle, mass: float) -> Bundle:
    assert bundle.sparse is not None, f"{bundle.folder} gives no sparse vectors"
    return replace(bundle, sparse=replace(bundle.sparse, mass=mass))


def encoder_of(bundle: Bundle) -> Encoder:
    return Encoder(bundle, open_session(bundle, "cpu"))


def pruned_and_whole(bundle: Bundle) -> tuple[Encoder, Encoder]:
    """Of one session: an encoder as the bundle says, and one that prunes nothing."""
    session = open_session(bundle, "cpu")
    return Encoder(bundle, session), Encoder(pruned_to(bundle, 1.0), session)


def written(papers: Iterable[EncodedPaper], path: Path) -> EmbeddedStore:
    """A new store of these papers."""
    store = EmbeddedStore.open(path, create=True)
    batch: list[EncodedPaper] = []
    for paper in papers:
        batch.append(paper)
        if len(batch) == BATCH:
            store.write(batch)
            batch = []
    store.write(batch)
    return store


def run(store: EmbeddedStore, queries: Mapping[str, EncodedQuery], options: SearchOptions) -> Run:
    return {qid: dict(ranking(store, query, options).scored_ids()) for qid, query in queries.items()}


def ndcg(collection: Collection, found: Run) -> Values:
    """nDCG@10 of each query [Q, 1]."""
    return measure(collection.qrels, found)[:, [NDCG]]


def compared(values: Values, base: Values) -> str:
    """The mean, its difference from the base's, and the p of the paired test."""
    difference = values - base
    return f"{values.mean():.4f} ({difference.mean():+.4f}, p {randomisation_p(difference)[0]:.3f})"


def average(columns: Iterable[Values]) -> float:
    """Over sets, each counting the same."""
    return float(np.mean([column.mean() for column in columns]))
