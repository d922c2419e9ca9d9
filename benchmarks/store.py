"""The embedded store at growing sizes: writing, opening, searching by stage, and BM25 against SQLite's FTS5.

    python benchmarks/store.py [--sizes 1000 10000 100000]

The corpus is synthetic: some 100 different words a paper by a Zipf-Mandelbrot law, nine sentences, vectors in topics.
It is made in the folder for temporary files (1.3 GB for 100,000 papers) and removed afterwards.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from typing import get_args

import numpy as np
import numpy.typing as npt

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper, EncodedQuery, Vector
from sciret.paper import Paper
from sciret.store import Channel, Scope

DIMS = 384
SENTENCES = 9
WORDS = 110
VOCABULARY = 1_000_000
TOPICS = 200
BATCH = 256
QUERIES = 30
K = 100


@dataclass(frozen=True)
class Corpus:
    """An endless sequence of encoded papers, and queries about them."""

    rng: np.random.Generator
    topics: Vector  # [TOPICS, d]

    @classmethod
    def seeded(cls, seed: int) -> Corpus:
        rng = np.random.default_rng(seed)
        return cls(rng, rng.standard_normal((TOPICS, DIMS), dtype=np.float32))

    def papers(self) -> Iterator[EncodedPaper]:
        number = 0
        while True:
            words = self.words(BATCH * WORDS).reshape(BATCH, WORDS)
            topics = self.rng.integers(TOPICS, size=BATCH)
            vectors = self.vectors(np.repeat(topics, SENTENCES + 1)).reshape(BATCH, SENTENCES + 1, DIMS)
            for row, matrix in zip(words, vectors, strict=True):
                yield _paper(number, [f"w{word}" for word in row], matrix)
                number += 1

    def words(self, count: int) -> npt.NDArray[np.int64]:
        """Ranks: the first words are in a third of all papers, the hundredth in a fifth, the thousandth in 2 %.

        That, and how fast new words appear (20,000 in 4,000 papers), is as measured on abstracts of two fields.
        """
        weights = 1 / np.power(np.arange(VOCABULARY) + 300, 2.05)
        return np.searchsorted(np.cumsum(weights) / weights.sum(), self.rng.random(count))

    def vectors(self, topics: npt.NDArray[np.int64]) -> Vector:
        noisy = self.topics[topics] + self.rng.standard_normal((len(topics), DIMS), dtype=np.float32)
        noisy /= np.linalg.norm(noisy, axis=1, keepdims=True)
        return noisy  # [len(topics), d]

    def queries(self, count: int) -> Iterator[EncodedQuery]:
        """Ten words a query, as frequent as in a paper: common ones make up most of the work."""
        vectors = self.vectors(self.rng.integers(TOPICS, size=count))
        for words, vector in zip(self.words(10 * count).reshape(count, 10), vectors, strict=True):
            text = " ".join(f"w{word}" for word in words)
            yield EncodedQuery(text, "bench", vector, (text,), vector[None])


def _paper(number: int, words: list[str], vectors: Vector) -> EncodedPaper:
    sentences = tuple(" ".join(part) for part in np.array_split(words, SENTENCES))
    paper = Paper(
        id=f"paper:{number}",
        title=" ".join(words[:10]),
        abstract=" ".join(words[10:]),
        authors=("Ada Lovelace", "Emmy Noether"),
        year=1990 + number % 35,
        venue=f"Journal {number % 50}",
        keywords=tuple(words[:5]),
    )
    return EncodedPaper(paper, "bench", vectors[0], sentences, (), vectors[1:])


class Fts5:
    """SQLite's own full-text index over the same words, for comparison."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("CREATE VIRTUAL TABLE f USING fts5(text, content='', tokenize='porter unicode61')")

    def write(self, papers: Sequence[EncodedPaper]) -> None:
        with self.connection:
            self.connection.executemany("INSERT INTO f (text) VALUES (?)", [(paper.paper.text,) for paper in papers])

    def search(self, query: EncodedQuery) -> list[tuple[int]]:
        match = " OR ".join(query.text.split())
        ranked = "SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?"
        return self.connection.execute(ranked, (match, K)).fetchall()


def grow(store: EmbeddedStore, fts5: Fts5, papers: Iterator[EncodedPaper], count: int) -> tuple[float, float]:
    """Write so many more papers to both; seconds spent in each."""
    ours = theirs = 0.0
    for written in range(0, count, BATCH):
        batch = list(islice(papers, min(BATCH, count - written)))
        ours += _seconds(store.write, batch)
        theirs += _seconds(fts5.write, batch)
    return ours, theirs


def report(path: Path, fts5: Fts5, queries: Sequence[EncodedQuery]) -> None:
    """Search a store that was just opened, then the warm one stage by stage."""
    started = time.perf_counter()
    store = EmbeddedStore.open(path)
    print(f"  open                             {(time.perf_counter() - started) * 1e3:9.2f} ms")
    print(f"  first search                     {_seconds(_search, store, queries[0]) * 1e3:9.2f} ms")
    found = [store.candidates(query, ["bm25", "dense"], K, Scope()) for query in queries]
    for channel in get_args(Channel):
        _line(f"candidates {channel}", [_seconds(store.candidates, q, [channel], K, Scope()) for q in queries])
    _line(
        "complete, with sentence vectors",
        [_seconds(store.complete, q, ids, "bm25", sentences=True) for q, ids in zip(queries, found, strict=True)],
    )
    _line("search: bm25 + dense, complete", [_seconds(_search, store, query) for query in queries])
    _line("FTS5, in place of bm25", [_seconds(fts5.search, query) for query in queries])
    store.close()


def _search(store: EmbeddedStore, query: EncodedQuery) -> None:
    ids = store.candidates(query, ["bm25", "dense"], K, Scope())
    store.complete(query, ids, "bm25", sentences=True)


def _seconds(function: Callable[..., object], *arguments: object, **options: object) -> float:
    started = time.perf_counter()
    function(*arguments, **options)
    return time.perf_counter() - started


def _line(name: str, seconds: Sequence[float]) -> None:
    print(f"  {name:<32} {median(seconds) * 1e3:9.2f} ms   (slowest {max(seconds) * 1e3:.1f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    sizes = sorted(parser.parse_args().sizes)
    corpus = Corpus.seeded(1)
    papers = corpus.papers()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        fts5 = Fts5(Path(folder) / "fts5.db")
        for before, size in pairwise([0, *sizes]):
            with EmbeddedStore.open(path, create=True) as store:
                ours, theirs = grow(store, fts5, papers, size - before)
            print(f"{size} papers, {path.stat().st_size / size / 1024:.1f} KiB each")
            print(f"  written                          {(size - before) / ours:9.0f} papers a second")
            print(f"  written by FTS5, words only      {(size - before) / theirs:9.0f} papers a second")
            report(path, fts5, list(corpus.queries(QUERIES)))
        fts5.connection.close()


if __name__ == "__main__":
    main()
