"""int8 against fp32 of one bundle: nDCG@10 of CASPER alone and fused, each precision with its own store and queries.

    python benchmarks/precision.py BUNDLE [--data ../shared/data] [--sets med cisi] [--lambda 0.65]

The bundle needs both graphs (`sciret export --precision both`). Stores are kept under build/precision.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from development import (
    Collection,
    add_options,
    average,
    compared,
    encoder_of,
    load_collection,
    ndcg,
    one_precision,
    run,
)

from sciret.embedded.store import EmbeddedStore
from sciret.encoders.bundle import Bundle, load_bundle
from sciret.evaluation.measures import Values
from sciret.retrieval.ingest import ingest
from sciret.retrieval.search import SearchOptions

PRECISIONS = ("fp32", "int8")
GOAL = 0.003


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    add_options(parser)
    parser.add_argument("--lambda", dest="lambda_", type=float, default=SearchOptions().lambda_)
    arguments = parser.parse_args()
    bundle = load_bundle(arguments.bundle)
    if set(bundle.precisions) != set(PRECISIONS):
        parser.error(f"{arguments.bundle} has {' and '.join(bundle.precisions)}; export it with --precision both")
    base = SearchOptions(k=100, sparse="casper", rerank="none")
    settings = {
        "casper": replace(base, lambda_=0.0),
        f"dense + casper, λ {arguments.lambda_}": replace(base, lambda_=arguments.lambda_),
        f"dense + both, λ {arguments.lambda_}": replace(base, sparse="both", lambda_=arguments.lambda_),
        "dense": replace(base, sparse=None),
    }
    if not bundle.has_vectors:
        settings = {"casper": settings["casper"]}
    found: dict[str, list[list[Values]]] = {label: [] for label in settings}
    print(f"{'nDCG@10, fp32 and int8 (difference, p)':40}", *(f"{name:>34}" for name in arguments.sets), flush=True)
    for name in arguments.sets:
        collection = load_collection(arguments.data, name, arguments.papers, arguments.queries)
        both = [measured(bundle, collection, precision, settings) for precision in PRECISIONS]
        for label in settings:
            found[label].append([values[label] for values in both])
    for label, columns in found.items():
        cells = [f"{fp32.mean():.4f} {compared(int8, fp32)}".rjust(34) for fp32, int8 in columns]
        change = average(int8 for _, int8 in columns) - average(fp32 for fp32, _ in columns)
        met = "within" if abs(change) <= GOAL else "NOT within"
        print(f"{label:40}", *cells, f"  average {change:+.4f}, {met} {GOAL}")


def measured(
    bundle: Bundle, collection: Collection, precision: str, settings: dict[str, SearchOptions]
) -> dict[str, Values]:
    """nDCG@10 of each query by setting."""
    encoder = encoder_of(one_precision(bundle, precision))
    folder = Path("build/precision", encoder.model[:12])
    folder.mkdir(parents=True, exist_ok=True)
    with EmbeddedStore.open(folder / f"{collection.name}-{len(collection.papers)}.db", create=True) as store:
        ingest(collection.papers, encoder, store, on_reject=print, on_progress=lambda _: None)
        queries = {qid: encoder.encode_query(text) for qid, text in collection.queries.items()}
        return {label: ndcg(collection, run(store, queries, options)) for label, options in settings.items()}


if __name__ == "__main__":
    main()
