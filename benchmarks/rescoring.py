"""A search on OpenSearch against the slowest single request that it consists of, and what fetching vectors costs.

    python benchmarks/rescoring.py [--papers 5000]

Starts a server of its own and fills it with the synthetic papers of store.py. "Rescoring" is everything beyond one
plain request: the other channels, the second round trip, both sides of every candidate, λ fusion and transport.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from itertools import islice
from statistics import median
from typing import Any
from urllib.parse import quote

from store import BATCH, DIMS, QUERIES, Corpus

from sciret.connector import queries
from sciret.connector.address import Address
from sciret.connector.candidates import channel_body
from sciret.connector.client import Client, connect
from sciret.connector.completion import FIELDS
from sciret.connector.documents import to_document
from sciret.connector.filters import admitted
from sciret.connector.local_server import throwaway_server
from sciret.connector.store import OpenSearchStore
from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.retrieval.search import SearchOptions, channels, search
from sciret.store import Scope

ROUNDS = 3
FETCHED = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=int, default=5000)
    size = parser.parse_args().papers
    corpus = Corpus.seeded(1)
    papers = list(islice(corpus.papers(), size))
    with throwaway_server(heap="1g", quick=False) as server:
        address = Address.parse(f"{server.url}/bench")
        with OpenSearchStore.open(address, create=True) as store:
            for start in range(0, size, BATCH):
                store.write(papers[start : start + BATCH])
            client = connect(address)
            client.call("POST", f"/{client.path}/_forcemerge", params={"max_num_segments": 1}, timeout=600)
            report_search(store, client, list(corpus.queries(QUERIES)))
        report_fetch(client, papers[:FETCHED])
        client.close()


def report_search(store: OpenSearchStore, client: Client, asked: Sequence[EncodedQuery]) -> None:
    options = SearchOptions()
    times: dict[str, list[float]] = {}
    for turn in range(ROUNDS + 1):
        for query in asked:
            for name, run in requests(store, client, query, options).items():
                spent = seconds(run)
                if turn:  # the first round warms server and client up
                    times.setdefault(name, []).append(spent)
    middle = {name: median(spent) for name, spent in times.items()}
    for name, spent in middle.items():
        print(f"  {name:28} {spent * 1e3:8.2f} ms")
    slowest = max(spent for name, spent in middle.items() if name != "whole search")
    print(f"a whole search takes {middle['whole search'] / slowest:.2f} times its slowest single request")


def requests(
    store: OpenSearchStore, client: Client, query: EncodedQuery, options: SearchOptions
) -> dict[str, Callable[[], object]]:
    """Each single request that a search is made of, and the search."""
    chosen = channels(query, options, store.channels)
    clause = admitted(Scope(), date.today())
    found = store.candidates(query, chosen, options.candidates, options.scope)
    bodies = {channel: channel_body(channel, query, options.candidates, clause, neural=False) for channel in chosen}
    single = {f"request: {channel}": lambda body=body: client.msearch([body]) for channel, body in bodies.items()}
    return {
        **single,
        "request: records": lambda: client.msearch([queries.records(found, FIELDS)]),
        "whole search": lambda: search(store, query, options),
    }


def report_fetch(client: Client, papers: Sequence[EncodedPaper]) -> None:
    """The same sentence vectors of 100 papers, once as one binary field and once as nested JSON."""
    ways: dict[str, Callable[[dict[str, Any]], Any]] = {
        "binary": lambda document: document["vectors"],
        "nested": lambda document: [{"vector": sentence["vector"]} for sentence in document["sentences"]],
    }
    figures = {}
    for name, value in ways.items():
        index = f"fetch-{name}"
        client.call("PUT", f"/{index}", {"mappings": {"properties": {"v": {"type": "object", "enabled": False}}}})
        documents = [to_document(paper, nested=True, beta=0.25, now=datetime.now(UTC)) for paper in papers]
        lines = "".join(f"{json.dumps({'index': {}})}\n{json.dumps({'v': {'v': value(d)}})}\n" for d in documents)
        client.call("POST", f"/{quote(index)}/_bulk", lines, params={"refresh": "true"})
        body = {"size": len(papers), "query": {"match_all": {}}, "sort": ["_doc"]}
        answer = client.call("POST", f"/{index}/_search", body)
        size = len(json.dumps(answer, separators=(",", ":"))) / len(papers)
        spent = [seconds(lambda: client.call("POST", f"/{index}/_search", body)) for _ in range(20)]  # noqa: B023
        figures[name] = size, median(spent)
        print(f"  {name}: {size:8.0f} bytes a hit, {len(papers)} hits in {figures[name][1] * 1e3:.1f} ms")
    (small, quick), (large, slow) = figures["binary"], figures["nested"]
    print(
        f"nested vectors ({DIMS} dims) as JSON are {large / small:.1f} times the bytes and {slow / quick:.1f} the time"
    )


def seconds(run: Callable[[], object]) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
