"""Pruning and β on the development sets, with the product's own store and search.

    python benchmarks/sparse_sweeps.py BUNDLE [--data ../shared/data] [--sets med cisi] [--lambda 0.65]

Each collection is encoded once, unpruned (kept under build/sweeps), and pruned in memory. Printed for every mass:
nDCG@10 of CASPER alone, and as searches are by default (with BM25, and fused by λ with dense vectors), postings a
paper, and how long candidates take as a ratio to the bundle's own mass, medians over rounds that take turns. Then the
same for β, at the bundle's own mass.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from development import (
    Collection,
    add_options,
    average,
    compared,
    encoder_of,
    load_collection,
    ndcg,
    pruned_to,
    run,
    written,
)
from scipy import sparse

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.encoders.bundle import Bundle, load_bundle
from sciret.encoders.learned import prune
from sciret.evaluation.measures import Values
from sciret.retrieval.search import SearchOptions
from sciret.store import Scope

MASSES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
BETAS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
ROUNDS = 3


@dataclass(frozen=True)
class Row:
    alone: Values
    fused: Values
    tokens: float
    keyphrases: float
    """Postings of a paper on average."""
    latency: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    add_options(parser)
    parser.add_argument("--lambda", dest="lambda_", type=float, default=SearchOptions().lambda_)
    arguments = parser.parse_args()
    bundle = load_bundle(arguments.bundle)
    assert bundle.sparse is not None, f"{arguments.bundle} gives no sparse vectors"
    fused = SearchOptions(k=100, sparse="both", rerank="none", lambda_=arguments.lambda_)
    masses: list[dict[float, Row]] = []
    betas: list[dict[float, Row]] = []
    for name in arguments.sets:
        collection = load_collection(arguments.data, name, arguments.papers, arguments.queries)
        whole = encoded(bundle, collection)
        with tempfile.TemporaryDirectory() as folder:
            masses.append(by_mass(bundle, collection, whole, fused, Path(folder)))
            betas.append(by_beta(bundle, collection, whole, fused, Path(folder)))
    show(f"mass, β {bundle.sparse.beta}", arguments.sets, masses, bundle.sparse.mass)
    show(f"β, mass {bundle.sparse.mass}", arguments.sets, betas, bundle.sparse.beta)


def by_mass(
    bundle: Bundle, collection: Collection, whole: Sequence[EncodedPaper], fused: SearchOptions, folder: Path
) -> dict[float, Row]:
    assert bundle.sparse is not None
    masses = sorted({*MASSES, bundle.sparse.mass})
    encoder = encoder_of(bundle)
    plain = {qid: encoder.encode_query(text) for qid, text in collection.queries.items()}
    stores, queries, postings = {}, {}, {}
    for mass in masses:
        papers = [pruned(paper, mass) for paper in whole]
        stores[mass] = written(papers, folder / f"{mass}.db")
        postings[mass] = tuple(np.mean([len(getattr(p, part)) for p in papers]) for part in ("tokens", "keyphrases"))
        queries[mass] = plain if is_weighted(bundle) else again(bundle, mass, collection)
    ratios = latencies(stores, queries, bundle.sparse.mass)
    return {mass: row(stores[mass], collection, queries[mass], fused, postings[mass], ratios[mass]) for mass in masses}


def by_beta(
    bundle: Bundle, collection: Collection, whole: Sequence[EncodedPaper], fused: SearchOptions, folder: Path
) -> dict[float, Row]:
    """Queries keep their features: β only weighs them."""
    assert bundle.sparse is not None
    store = EmbeddedStore.open(folder / f"{bundle.sparse.mass}.db")
    encoder = encoder_of(bundle)
    queries = {qid: encoder.encode_query(text) for qid, text in collection.queries.items()}
    counts = tuple(
        float(np.mean([len(prune(getattr(p, part), bundle.sparse.mass)) for p in whole]))
        for part in ("tokens", "keyphrases")
    )
    return {
        beta: row(store, collection, queries, replace(fused, beta=beta), counts, 1.0)
        for beta in sorted({*BETAS, bundle.sparse.beta})
    }


def row(
    store: EmbeddedStore,
    collection: Collection,
    queries: dict[str, EncodedQuery],
    fused: SearchOptions,
    postings: tuple[float, ...],
    latency: float,
) -> Row:
    casper = replace(fused, sparse="casper", lambda_=0.0)
    alone, both = (ndcg(collection, run(store, queries, each)) for each in (casper, fused))
    return Row(alone, both, *postings, latency=latency)


def latencies(
    stores: dict[float, EmbeddedStore], queries: dict[float, dict[str, EncodedQuery]], own: float
) -> dict[float, float]:
    """Of all queries' candidates, as ratios to the bundle's own mass."""
    taken: dict[float, list[float]] = {mass: [] for mass in stores}
    for number in range(ROUNDS + 1):
        for mass, store in stores.items():
            began = time.perf_counter()
            for query in queries[mass].values():
                store.candidates(query, ["casper"], 100, Scope())
            if number:  # the first loads postings
                taken[mass].append(time.perf_counter() - began)
    return {m: statistics.median(a / b for a, b in zip(taken[m], taken[own], strict=True)) for m in stores}


def show(title: str, sets: Sequence[str], columns: Sequence[dict[float, Row]], own: float) -> None:
    print(f"\n{title:12}", *(f"{f'{name}: alone':>26}{'fused':>26}" for name in sets), f"{'average':>16}", end="")
    print("  tokens  keyphrases  candidates' time", flush=True)
    for value in columns[0]:
        cells = []
        for column in columns:
            for part in ("alone", "fused"):
                values, base = getattr(column[value], part), getattr(column[own], part)
                cells.append((compared(values, base) if value != own else f"{values.mean():.4f}").rjust(26))
        means = " ".join(f"{average(getattr(c[value], part) for c in columns):.4f}" for part in ("alone", "fused"))
        rows = [column[value] for column in columns]
        print(f"{value:<12}", *cells, f"{means:>16}", end="")
        print(
            f"{np.mean([r.tokens for r in rows]):8.0f}{np.mean([r.keyphrases for r in rows]):12.0f}"
            f"{statistics.median(r.latency for r in rows):18.2f}",
            flush=True,
        )


def is_weighted(bundle: Bundle) -> bool:
    """Queries that no graph reads are not pruned."""
    assert bundle.sparse is not None
    return {bundle.sparse.query_tokens, bundle.sparse.query_keyphrases} == {"weighted"}


def again(bundle: Bundle, mass: float, collection: Collection) -> dict[str, EncodedQuery]:
    encoder = encoder_of(pruned_to(bundle, mass))
    return {qid: encoder.encode_query(text) for qid, text in collection.queries.items()}


def pruned(paper: EncodedPaper, mass: float) -> EncodedPaper:
    return replace(paper, tokens=prune(paper.tokens, mass), keyphrases=prune(paper.keyphrases, mass))


def encoded(bundle: Bundle, collection: Collection) -> list[EncodedPaper]:
    """Unpruned and without sentences, from a file where there is one."""
    folder = Path("build/sweeps", bundle.fingerprint[:12])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{collection.name}-{len(collection.papers)}.npz"
    if not path.is_file():
        keep(path, encoder_of(pruned_to(bundle, 1.0)).encode_papers(collection.papers))
    return list(kept(path, bundle, collection))


def keep(path: Path, papers: Iterator[EncodedPaper]) -> None:
    dense, names, cells = [], {}, {"tokens": [], "keyphrases": []}  # type: ignore[var-annotated]
    arrays = {}
    for paper in papers:
        dense.append(paper.dense)
        for part, rows in cells.items():
            weights = getattr(paper, part)
            columns = [names.setdefault(name, len(names)) for name in weights]
            rows.append((columns, list(weights.values())))
    for part, rows in cells.items():
        arrays[f"{part}_starts"] = np.cumsum([0, *(len(columns) for columns, _ in rows)])
        arrays[f"{part}_columns"] = np.concatenate([np.array(columns, np.int32) for columns, _ in rows])
        arrays[f"{part}_weights"] = np.concatenate([np.array(weights, np.float32) for _, weights in rows])
    if dense[0] is not None:
        arrays["dense"] = np.stack(dense)
    np.savez(path, names=np.array(list(names)), **arrays)


def kept(path: Path, bundle: Bundle, collection: Collection) -> Iterator[EncodedPaper]:
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    names = arrays["names"].tolist()
    matrices = {
        part: sparse.csr_matrix(
            tuple(arrays[f"{part}_{name}"] for name in ("weights", "columns", "starts")),
            shape=(len(collection.papers), len(names)),
        )
        for part in ("tokens", "keyphrases")
    }
    for number, paper in enumerate(collection.papers):
        found = {}
        for part, matrix in matrices.items():
            span = slice(matrix.indptr[number], matrix.indptr[number + 1])
            pairs = zip(matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True)
            found[part] = {names[column]: weight for column, weight in pairs}
        dense = arrays["dense"][number] if "dense" in arrays else None
        yield EncodedPaper(paper, model=bundle.fingerprint, dense=dense, sentences=(paper.title,), **found)


if __name__ == "__main__":
    main()
