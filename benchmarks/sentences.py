"""Sentence boundaries found in abstracts whose sentences people have marked, with and without our rule.

python benchmarks/sentences.py --data ../shared/data
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import nupunkt

from sciret.encoders.text import split

LIMIT = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    abstracts = list(read(parser.parse_args().data / "csabstruct.jsonl.gz"))
    truth = [boundaries(sentences) for sentences in abstracts]
    texts = [" ".join(sentences) for sentences in abstracts]
    report("nupunkt", truth, [{start for start, _ in nupunkt.sent_spans(text)} - {0} for text in texts])
    report("with our rule", truth, [set(split(text, LIMIT).starts) - {0} for text in texts])


def read(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield [sentence.strip() for sentence in json.loads(line)["sentences"] if sentence.strip()]


def boundaries(sentences: Sequence[str]) -> set[int]:
    """Where each sentence but the first begins, when they are joined by spaces."""
    return set(accumulate(len(sentence) + 1 for sentence in sentences[:-1]))


def report(name: str, truth: Sequence[set[int]], found: Sequence[set[int]]) -> None:
    right = sum(len(a & b) for a, b in zip(truth, found, strict=True))
    recall, precision = right / sum(map(len, truth)), right / sum(map(len, found))
    print(f"{name:14} misses {1 - recall:.2%} of {sum(map(len, truth))} boundaries, precision {precision:.4f}")


if __name__ == "__main__":
    main()
