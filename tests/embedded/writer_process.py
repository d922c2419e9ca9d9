"""Fills a store in many small steps and says before and after each what it does; may be killed and started again.

    python writer_process.py STORE STEPS

Every step writes new papers and improves some of the step before, then deletes a few of those. A line says what is
about to be done, as the hashes of the papers after it (null: deleted); the next line, `done`, follows when the store
has acknowledged it.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper
from sciret.paper import Paper

SIZE = 16


def paper(number: int, version: int) -> EncodedPaper:
    vectors = np.random.default_rng([number, version]).standard_normal((4, 32)).astype(np.float32)
    text = " ".join(f"word{number * k % 97}" for k in range(1, 20))
    record = Paper(f"p{number}", f"Paper {number}, version {version}", text)
    return EncodedPaper(record, "m", vectors[0], ("a", "b", "c"), (), vectors[1:])


def run(store: EmbeddedStore, steps: int) -> None:
    """From the step that was reached before; what it has done already is skipped by its hash."""
    known = store.hashes([f"p{number}" for number in range(steps * SIZE)])
    reached = max((int(paper_id[1:]) // SIZE for paper_id in known), default=0)
    for step in range(reached, steps):
        numbers = range(step * SIZE, (step + 1) * SIZE)
        older = range(max(0, step - 1) * SIZE, step * SIZE)
        wanted = [paper(n, 0) for n in numbers] + [paper(n, 1) for n in older if n % 3 == 0]
        _write(store, [encoded for encoded in wanted if not _has(store, encoded)])
        _delete(store, [f"p{n}" for n in older if n % 7 == 0])


def _has(store: EmbeddedStore, encoded: EncodedPaper) -> bool:
    """In this version or the next."""
    number = int(encoded.paper.id[1:])
    known = store.hashes([encoded.paper.id]).get(encoded.paper.id)
    return known in (encoded.paper.content_hash, paper(number, 1).paper.content_hash)


def _write(store: EmbeddedStore, papers: list[EncodedPaper]) -> None:
    print(json.dumps({p.paper.id: p.paper.content_hash for p in papers}), flush=True)
    store.write(papers)
    print("done", flush=True)


def _delete(store: EmbeddedStore, ids: list[str]) -> None:
    print(json.dumps(dict.fromkeys(ids)), flush=True)
    store.delete(ids)
    print("done", flush=True)


if __name__ == "__main__":
    with EmbeddedStore.open(sys.argv[1], create=True) as opened:
        run(opened, int(sys.argv[2]))
