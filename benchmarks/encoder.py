"""Our encoder (document and sentence vectors) against sentence-transformers (document vectors only), in one run.

Same backbone, texts and number of threads; torch computes in fp32. Timing does not depend on the values of weights, so
without --checkpoint the backbone is a randomly initialised one of the default bundle's configuration.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from sciret.encoders.bundle import TOKENIZER, Bundle
from sciret.encoders.encoder import Encoder
from sciret.encoders.text import TextReader
from sciret.paper import Paper

CORPUS = Path(__file__).parent.parent / "examples" / "corpus.jsonl"
Contender = Callable[[Sequence[Paper]], object]
BATCH_SIZES = (32, 8, 1)  # the first is the default of sentence-transformers
# A usual abstract has 150 to 250 words; the examples are shorter, so two are read as one.
ABSTRACTS_PER_PAPER = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2, help="each contender runs this often; its best time counts")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--checkpoint", help="a transformers folder with the backbone; default: random weights")
    options = parser.parse_args()

    encoder = Encoder.open("default", device="cpu", threads=options.threads)
    papers = read_papers(options.papers)
    peer = sentence_transformer(encoder.bundle, options.checkpoint, options.threads)
    contenders: dict[str, Contender] = {"sciret": lambda some: list(encoder.encode_papers(some))}
    for size in BATCH_SIZES:
        contenders[f"batch {size}"] = partial(run_peer, peer, size)
    report(race(contenders, papers, options.rounds), papers, encoder.bundle)


def read_papers(count: int) -> list[Paper]:
    with CORPUS.open(encoding="utf-8") as lines:
        records = [record for record in map(json.loads, lines) if isinstance(record.get("abstract"), str)]
    stream = cycle(records)
    papers = []
    for number in range(count):
        parts = list(islice(stream, ABSTRACTS_PER_PAPER))
        papers.append(Paper(str(number), parts[0]["title"], " ".join(part["abstract"] for part in parts)))
    return papers


def sentence_transformer(bundle: Bundle, checkpoint: str | None, threads: int) -> Any:
    """With the mean pooling that it puts on a plain checkpoint: how tokens are pooled takes no time worth noting."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder:
        if checkpoint is None:
            save_random_backbone(bundle, folder)
        peer = SentenceTransformer(checkpoint or folder, device="cpu")
    peer.max_seq_length = bundle.max_length
    return peer


def save_random_backbone(bundle: Bundle, folder: str) -> None:
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(bundle.path(TOKENIZER)), **names)
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=bundle.dims,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=4 * bundle.dims,
    )
    BertModel(config).save_pretrained(folder)


def run_peer(peer: Any, batch_size: int, papers: Sequence[Paper]) -> object:
    return peer.encode([f"{paper.title} {paper.abstract}" for paper in papers], batch_size=batch_size)


def race(contenders: dict[str, Contender], papers: Sequence[Paper], rounds: int) -> dict[str, float]:
    """Seconds of each, the best of its rounds. They take turns, so that a busy minute of the machine hits all."""
    for run in contenders.values():
        run(papers[:4])  # loads code and fills caches
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            begun = time.perf_counter()
            run(papers)
            best[name] = min(best[name], time.perf_counter() - begun)
    return best


def report(seconds: dict[str, float], papers: Sequence[Paper], bundle: Bundle) -> None:
    reader = TextReader(bundle)
    lengths = [len(reader.read_paper(paper).ids) for paper in papers]
    print(f"{len(papers)} papers, {sum(lengths) / len(lengths):.0f} tokens on average")
    for name, value in seconds.items():
        print(f"  {name:<10} {len(papers) / value:6.1f} papers/s")
    default, *_ = peers = [seconds[f"batch {size}"] for size in BATCH_SIZES]
    print(f"sciret is {default / seconds['sciret']:.2f} times sentence-transformers at its default batch size,")
    print(f"and {min(peers) / seconds['sciret']:.2f} times its best of batch sizes {BATCH_SIZES}")


if __name__ == "__main__":
    main()
