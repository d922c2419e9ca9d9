"""What tokens and keyphrases add to the cost of encoding: a one-pass bundle against a dense-only one, taking turns.

    python benchmarks/one_pass.py [BUNDLE] --dense build/model/dense [--papers 48] [--rounds 5]

Both encode the same papers in every round; the figure is the median of the rounds' ratios, which a busy machine moves
less than the times themselves. Also the size of both, on disk and as a wheel carries it (compressed).
"""

from __future__ import annotations

import argparse
import statistics
import time
import zlib
from collections.abc import Sequence

from development import one_precision
from encoder import read_papers

from sciret.encoders.bundle import Bundle
from sciret.encoders.encoder import Encoder
from sciret.paper import Paper

GOAL = 1.6
MB = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", nargs="?", default="default")
    parser.add_argument("--dense", required=True, help="the dense bundle to compare with, such as build/model/dense")
    parser.add_argument("--papers", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    encoders = {name: Encoder.open(name, threads=options.threads) for name in (options.bundle, options.dense)}
    papers = read_papers(options.papers)
    for encoder in encoders.values():
        seconds(encoder, papers[:4])  # loads code and fills caches
    wall, cpu = [], []
    for number in range(options.rounds):
        order = list(encoders) if number % 2 else list(reversed(encoders))
        taken = {name: seconds(encoders[name], papers) for name in order}
        (one_wall, one_cpu), (dense_wall, dense_cpu) = taken[options.bundle], taken[options.dense]
        wall.append(one_wall / dense_wall)
        cpu.append(one_cpu / dense_cpu)
    for name, encoder in encoders.items():
        raw, packed = size(one_precision(encoder.bundle, "int8"))
        print(
            f"{name}: {', '.join(encoder.bundle.outputs)}; in int8 {raw / MB:.1f} MB, compressed {packed / MB:.1f} MB"
        )
    print(f"{len(papers)} papers, {options.rounds} rounds; one pass takes, as a median of ratios,")
    print(f"  {statistics.median(wall):.2f} times the time of dense only ({min(wall):.2f} to {max(wall):.2f})")
    print(f"  {statistics.median(cpu):.2f} times its processor time ({min(cpu):.2f} to {max(cpu):.2f}); goal {GOAL}")


def seconds(encoder: Encoder, papers: Sequence[Paper]) -> tuple[float, float]:
    """By the clock, and of the processor."""
    began = time.perf_counter(), time.process_time()
    for _ in encoder.encode_papers(papers):
        pass
    return time.perf_counter() - began[0], time.process_time() - began[1]


def size(bundle: Bundle) -> tuple[int, int]:
    """Bytes of its files, and compressed as a wheel does it."""
    contents = [bundle.path(name).read_bytes() for name in bundle.files]
    return sum(map(len, contents)), sum(len(zlib.compress(content, 6)) for content in contents)


if __name__ == "__main__":
    main()
