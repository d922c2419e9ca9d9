"""What a record costs on disk and to fetch: vectors derived from their graphs or left out of documents, gzip or not.

    python benchmarks/records.py [--papers 2000]

Starts a server of its own and fills it with the synthetic papers of store.py, once for each way to keep vectors out of
documents (mappings/templates.py). Times are medians of 30 requests for 100 records.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from statistics import median
from typing import Any

from store import BATCH, Corpus

from sciret.connector import queries
from sciret.connector.address import Address
from sciret.connector.completion import FIELDS
from sciret.connector.local_server import throwaway_server
from sciret.connector.server import Server
from sciret.connector.store import OpenSearchStore
from sciret.encoded import EncodedPaper
from sciret.mappings.options import IndexOptions

FETCHED = 100
TIMES = 30


class Excluding(Server):
    """A server that is taken for one which does not derive vectors."""

    @property
    def derives_vectors(self) -> bool:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=int, default=2000)
    papers = list(islice(Corpus.seeded(1).papers(), parser.parse_args().papers))
    with throwaway_server(heap="1g", quick=False) as server:
        figures = {
            name: measure(Address.parse(f"{server.url}/{name}"), papers, derives=name == "derived")
            for name in ("derived", "excluded")
        }
    for name, found in figures.items():
        print(f"{name}: " + ", ".join(f"{what} {value:,.1f}" for what, value in found.items()))
    for what in figures["derived"]:
        print(f"excluded over derived, {what}: {figures['excluded'][what] / figures['derived'][what]:.2f}")
    plain, packed = figures["derived"]["ms plain"], figures["derived"]["ms gzip"]
    print(f"gzip over plain: {packed / plain:.2f} of the time")


def measure(address: Address, papers: Sequence[EncodedPaper], *, derives: bool) -> Mapping[str, float]:
    with OpenSearchStore.open(address, create=True, options=IndexOptions(replicas=0)) as store:
        client = store.client
        if not derives:
            client.server = Excluding(client.server.number, client.server.distribution, client.server.plugins)
        for start in range(0, len(papers), BATCH):
            store.write(papers[start : start + BATCH])
        client.call("POST", f"/{client.path}/_flush")
        size = client.call("GET", f"/{client.path}/_stats/store")["_all"]["total"]["store"]["size_in_bytes"]
        body = queries.records([paper.paper.id for paper in papers[:FETCHED]], FIELDS)
        answer = client.call("POST", f"/{client.path}/_search", body)
        return {
            "bytes a paper": size / len(papers),
            "bytes a hit": len(json.dumps(answer, separators=(",", ":"))) / FETCHED,
            "ms plain": fetch(store, body, "identity"),
            "ms gzip": fetch(store, body, "gzip"),
        }


def fetch(store: OpenSearchStore, body: Mapping[str, Any], encoding: str) -> float:
    """Milliseconds."""
    client, spent = store.client, []
    for _ in range(TIMES + 5):
        begun = time.perf_counter()
        client.call("POST", f"/{client.path}/_search", dict(body), headers={"accept-encoding": encoding})
        spent.append(time.perf_counter() - begun)
    return median(spent[5:]) * 1e3


if __name__ == "__main__":
    main()
