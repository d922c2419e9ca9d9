"""The keyphrase vocabulary: growth of time and memory with the corpus, and coverage against choice by frequency.

    python benchmarks/vocabulary.py ../shared/data/arxiv.jsonl.gz [--sizes 10000 30000 100000] [--phrases 20000]

Papers come from the files given, one after the other. Each size runs in a process of its own, so that its peak memory
is its own. Seconds are of the processor and serve to compare rows of one run.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sciret.encoders.phrases import PhraseMatcher
from sciret.paper import Paper
from sciret.training.coverage import Choice, choose_by_coverage, choose_by_frequency, phrases_held, worth
from sciret.training.phrase_counts import Termhood
from sciret.training.phrase_index import PhraseIndex
from sciret.training.vocabulary import Source, index_terms

LEAST = (1, 3, 5, 10)


@dataclass(frozen=True)
class Limited(Source):
    """The first papers of a file."""

    papers_at_most: int = 0

    def papers(self) -> Iterator[Paper]:
        for number, paper in enumerate(super().papers()):
            if number == self.papers_at_most:
                return
            yield paper


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--phrases", type=int, default=20_000)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.files, given.one, given.phrases)))
        return
    columns = {"papers": 8, "terms": 8, "extract s": 10, "choose s": 9, "gains": 8, "disk MB": 8, "peak MB": 8}
    print(*(f"{name:>{width}}" for name, width in columns.items()), " ms/paper")
    found = []
    for size in given.sizes:
        command = [sys.executable, __file__, *given.files, "--one", str(size), "--phrases", str(given.phrases)]
        row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        found.append(row)
        print(
            f"{row['papers']:>8} {row['terms']:>8} {row['extract']:>10.1f} {row['choose']:>9.1f} {row['computed']:>8} "
            f"{row['disk']:>8.0f} {row['peak']:>8.0f} {1e3 * row['extract'] / row['papers']:>9.2f}",
            flush=True,
        )
    print(f"\ncoverage of {given.phrases:,} phrases: papers with at least so many, and the mean of 1 + 1/2 + ... + 1/n")
    print(f"{'papers':>8} {'choice':>10}", *(f"{f'>= {least}':>7}" for least in LEAST), f"{'worth':>7} {'mean':>6}")
    for row in found:
        for name in ("coverage", "frequency"):
            figures = row[name]
            print(f"{row['papers']:>8} {name:>10}", *(f"{share:>7.1%}" for share in figures["with"]), end=" ")
            print(f"{figures['worth']:>7.3f} {figures['mean']:>6.1f}")
    print("\nmatcher, all phrases of the last vocabulary, with places:", f"{found[-1]['matcher']:.2f} ms an abstract")


def measure(files: Sequence[str], size: int, phrases: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        started = time.process_time()
        index, groups = index_terms(limited(files, size), phrases, Termhood(), folder, lambda _: None)
        extracted = time.process_time()
        papers = sum(groups.values())
        weights = np.ones(papers)
        chosen = choose_by_coverage(index, phrases, weights)
        ended = time.process_time()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {
            "papers": papers,
            "terms": len(index),
            "extract": extracted - started,
            "choose": ended - extracted,
            "computed": chosen.computed,
            "disk": sum(path.stat().st_size for path in folder.iterdir()) / 2**20,
            "peak": peak,
            "coverage": figures(index, chosen, papers),
            "frequency": figures(index, choose_by_frequency(index, phrases, weights), papers),
            "matcher": matching([index.names[term] for term in chosen.terms], limited(files, min(size, 1000))),
        }


def limited(files: Sequence[str], size: int) -> list[Source]:
    """So many papers from the files, in their order."""
    sources: list[Source] = []
    for path in files:
        there = sum(1 for _ in Limited(path, papers_at_most=size).papers())
        sources.append(Limited(path, papers_at_most=size))
        size -= there
        if not size:
            break
    return sources


def figures(index: PhraseIndex, choice: Choice, papers: int) -> dict[str, object]:
    held = phrases_held(index, choice.terms, papers)
    return {"with": [float((held >= n).mean()) for n in LEAST], "worth": worth(held), "mean": float(held.mean())}


def matching(phrases: Sequence[str], sources: Sequence[Source]) -> float:
    """Milliseconds of the processor for a text."""
    matcher = PhraseMatcher(phrases)
    texts = [paper.text for source in sources for paper in source.papers()]
    started = time.process_time()
    for text in texts:
        matcher.find(text)
    return 1e3 * (time.process_time() - started) / len(texts)


if __name__ == "__main__":
    main()
