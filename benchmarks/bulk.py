"""Our bulk writer against opensearch-py's `parallel_bulk`: rate on the same documents in one run, and what is lost.

    python benchmarks/bulk.py [--documents 4000] [--rounds 3]

Starts a server of its own. Both get the same client, number of threads and size of requests, and take turns.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from opensearchpy import OpenSearch, helpers

from sciret.connector.bulk import CHUNK_BYTES, WORKERS, BulkWriter
from sciret.connector.local_server import throwaway_server
from sciret.connector.store import OpenSearchStore
from sciret.encoders.encoder import Encoder
from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.retrieval.ingest import ingest

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "connector"))

from fault_proxy import Plan, fault_proxy, refuse  # the tests' proxy, found by the line above

DIMS = 384
Write = Callable[[OpenSearch, str, Iterator[tuple[str, dict[str, Any]]]], int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=7, help="each writes everything once a round")
    given = parser.parse_args()
    with throwaway_server(heap="1g", quick=False) as server:
        client = OpenSearch(server.url, pool_maxsize=2 * WORKERS, timeout=60)
        texts = list(make_documents(5 * given.documents, vector=False))
        compare_rates(client, "texts", texts, given.rounds)
        vectors = list(make_documents(given.documents, vector=True))
        compare_rates(client, "texts with a vector", vectors, given.rounds)
        compare_losses(client, server.url, texts)
        compare_skipping(server.url, given.documents)
        client.close()


def make_documents(count: int, *, vector: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """An abstract's worth of words each, as frequent as words are, and a vector as an encoder gives it."""
    rng = np.random.default_rng(3)
    for number in range(count):
        words = [f"w{rank}" for rank in rng.zipf(1.3, 180) % 100_000]
        source: dict[str, Any] = {"title": " ".join(words[:12]), "abstract": " ".join(words[12:]), "year": 1990}
        if vector:
            row = rng.standard_normal(DIMS)
            source["dense"] = (row / np.linalg.norm(row)).astype(np.float16).astype(float).tolist()
        yield f"paper:{number}", source


def compare_rates(client: OpenSearch, kind: str, documents: list[tuple[str, dict[str, Any]]], rounds: int) -> None:
    """Side by side, each first in every other round: whatever else the machine does slows both."""
    ways: dict[str, Write] = {"parallel_bulk": theirs, "BulkWriter": ours}
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name in list(ways)[:: 1 if turn % 2 else -1]:
            there, seconds = fresh_index(client, lambda index, name=name: ways[name](client, index, iter(documents)))
            assert there == len(documents)
            spent[name].append(seconds)
    print(f"{kind}: {len(documents):,} documents, {WORKERS} threads, requests of at most {CHUNK_BYTES >> 20} MiB")
    warm = {name: seconds[1:] for name, seconds in spent.items()}  # the first round warms the server up
    for name, seconds in warm.items():
        print(f"  {name:<14} {len(documents) / min(seconds):8.0f} documents/s at best")
    ratios = [theirs / ours for theirs, ours in zip(warm["parallel_bulk"], warm["BulkWriter"], strict=True)]
    print(
        f"  ours over theirs {median(ratios):.2f} (median of {rounds} rounds, {min(ratios):.2f} to {max(ratios):.2f})"
    )


def compare_losses(client: OpenSearch, url: str, documents: list[tuple[str, dict[str, Any]]]) -> None:
    """Small requests, so that there are enough of them for every fifth to be refused."""
    plan: Plan = lambda number, _: refuse(429) if number % 5 == 0 else None  # noqa: E731
    print(f"every fifth request answered by 429: of {len(documents):,} documents")
    for name, write in {"parallel_bulk": theirs, "BulkWriter": ours}.items():
        with fault_proxy(url, plan) as proxy, OpenSearch(proxy.url, pool_maxsize=2 * WORKERS) as proxied:

            def small(index: str, write: Write = write, proxied: OpenSearch = proxied) -> int:
                return write(proxied, index, iter(documents), size=64 << 10)

            there, _ = fresh_index(client, small)
        print(f"  {name:<14} lost {len(documents) - there:,}, after {proxy.faults} refusals")


def compare_skipping(url: str, count: int) -> None:
    """A run that was killed is begun anew: papers that are there are read and compared, the others encoded."""
    encoder = Encoder.open("default")
    papers = [Paper(name, source["title"], source["abstract"]) for name, source in make_documents(count, vector=False)]
    sample = papers[:64]
    begun = time.perf_counter()
    (encoded, *_) = list(encoder.encode_papers(sample))
    encoding = (time.perf_counter() - begun) / len(sample)
    with OpenSearchStore.open(f"{url}/skipping", create=True, refresh=False) as store:
        store.write([replace(encoded, paper=paper) for paper in papers])
        report = ingest(papers, encoder, store, on_reject=refused, on_progress=lambda _: None)
    assert report.unchanged == count
    skipping = report.seconds / count
    print(f"a second run: {1 / skipping:,.0f} papers/s skipped, {1 / encoding:,.0f} papers/s encoded")
    print(f"  skipping is {encoding / skipping:.0f} times as fast as encoding")


def refused(error: RecordError) -> None:
    raise error


def ours(client: OpenSearch, index: str, documents: Iterator[tuple[str, Any]], size: int = CHUNK_BYTES) -> int:
    return BulkWriter(client, index, chunk_bytes=size).write(documents).acknowledged


def theirs(client: OpenSearch, index: str, documents: Iterator[tuple[str, Any]], size: int = CHUNK_BYTES) -> int:
    """As forgiving as it can be made; its chunks are limited by bytes alone, as ours are."""
    actions = ({"_op_type": "index", "_index": index, "_id": name, "_source": source} for name, source in documents)
    results = helpers.parallel_bulk(
        client,
        actions,
        thread_count=WORKERS,
        queue_size=WORKERS,
        chunk_size=10**9,
        max_chunk_bytes=size,
        raise_on_error=False,
        raise_on_exception=False,
    )
    return sum(done for done, _ in results)


def fresh_index(client: OpenSearch, write: Callable[[str], int]) -> tuple[int, float]:
    """Write into an index that is made for it; how many documents are there afterwards, and how long it took."""
    properties = {
        "title": {"type": "text"},
        "abstract": {"type": "text"},
        "year": {"type": "integer"},
        "dense": {
            "type": "knn_vector",
            "dimension": DIMS,
            "method": {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"},
        },
    }
    settings = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1", "knn": True}
    body = {"settings": {"index": settings}, "mappings": {"dynamic": "strict", "properties": properties}}
    client.indices.create(index="bench", body=body)
    try:
        begun = time.perf_counter()
        acknowledged = write("bench")
        spent = time.perf_counter() - begun
        client.indices.refresh(index="bench")
        there: int = client.count(index="bench")["count"]
        assert there == acknowledged
        return there, spent
    finally:
        client.indices.delete(index="bench")


if __name__ == "__main__":
    main()
