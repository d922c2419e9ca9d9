"""A warm search by stage, against the time to encode the query itself, in one run.

    python benchmarks/search.py [--papers 100000]

The papers are the synthetic ones of store.py; the queries are real texts encoded by the default model, whose words are
replaced by the synthetic corpus's, so that both encoding and searching do real work.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median

from store import BATCH, Corpus

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedQuery
from sciret.encoders.encoder import Encoder
from sciret.retrieval.search import SearchOptions, channels, compare_sentences, search

TEXTS = [
    "Does sleeping after studying improve recall?",
    "alternatives to antibiotics for stubborn infections",
    "How can a network pick up new skills without losing the old ones?",
    "graph neural networks for molecules and crystals",
    "optimal transport between distributions of cells measured at different times",
    "Social comparison nudges wear off once they are discontinued.",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    encoder = Encoder.open("default")
    corpus = Corpus.seeded(1)
    with tempfile.TemporaryDirectory() as folder, EmbeddedStore.open(Path(folder) / "s.db", create=True) as store:
        papers = corpus.papers()
        for _ in range(0, arguments.papers, BATCH):
            store.write(list(islice(papers, BATCH)))
        stages: dict[str, list[float]] = defaultdict(list)
        queries = list(zip(TEXTS, corpus.queries(len(TEXTS)), strict=True))
        for number in range(arguments.rounds + 1):
            for text, synthetic in queries:
                measure(encoder, store, text, synthetic, stages)
            if number == 0:
                stages.clear()  # the first round loads what the others find in memory
    report(arguments.papers, {name: median(times) for name, times in stages.items()})


def measure(
    encoder: Encoder, store: EmbeddedStore, text: str, synthetic: EncodedQuery, stages: dict[str, list[float]]
) -> None:
    with stage("encode the query", stages):
        encoded = encoder.encode_query(text)
    query = replace(encoded, text=synthetic.text, model=synthetic.model)
    options = SearchOptions()
    with stage("candidates", stages):
        ids = store.candidates(query, channels(query, options, store.channels), options.candidates, options.scope)
    with stage("complete", stages):
        found = store.complete(query, ids, options.sparse, sentences=True)
    with stage("transport", stages):
        compare_sentences(query, found, options)
    with stage("whole search", stages):
        search(store, query, options)


@contextmanager
def stage(name: str, stages: dict[str, list[float]]) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    stages[name].append(time.perf_counter() - begun)


def report(papers: int, medians: dict[str, float]) -> None:
    print(f"{papers} papers, median milliseconds of a warm search")
    for name, seconds in medians.items():
        print(f"  {name:18} {seconds * 1e3:8.2f}")
    ratio = medians["whole search"] / medians["encode the query"]
    print(f"a search takes {ratio:.2f} times as long as encoding its query")


if __name__ == "__main__":
    main()
