"""The whole ingest (read, encode, write) against encoding alone, on the same papers in one run.

python benchmarks/ingest.py [--rounds 3]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from sciret.embedded.store import EmbeddedStore
from sciret.encoders.encoder import Encoder
from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.retrieval.ingest import ingest
from sciret.sources.reader import open_source

CORPUS = Path(__file__).parent.parent / "examples" / "corpus.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="they take turns; the best time of each counts")
    rounds = parser.parse_args().rounds
    encoder = Encoder.open("default")
    papers = [record for record in open_source(str(CORPUS)) if isinstance(record, Paper)]
    times = [(encode_only(encoder, papers), whole_ingest(encoder)) for _ in range(rounds)]
    encoding, whole = (min(column) for column in zip(*times, strict=True))
    print(f"encoding alone {len(papers) / encoding:6.1f} papers/s")
    print(f"whole ingest   {len(papers) / whole:6.1f} papers/s")
    print(f"ingest runs at {encoding / whole:.2f} of the encode-only rate")


def encode_only(encoder: Encoder, papers: list[Paper]) -> float:
    begun = time.perf_counter()
    for _ in encoder.encode_papers(papers):
        pass
    return time.perf_counter() - begun


def whole_ingest(encoder: Encoder) -> float:
    with tempfile.TemporaryDirectory() as folder, EmbeddedStore.open(Path(folder) / "papers.db", create=True) as store:
        begun = time.perf_counter()
        ingest(open_source(str(CORPUS)), encoder, store, on_reject=refused, on_progress=lambda _: None)
        return time.perf_counter() - begun


def refused(error: RecordError) -> None:
    raise error


if __name__ == "__main__":
    main()
