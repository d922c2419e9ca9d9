"""Memory of a training step as a formula: bytes that a real step allocates on the CPU, for many sizes of everything.

    python benchmarks/casper_memory.py

Weights, gradients and AdamW's two moments are 16 bytes a parameter. What a step needs besides is measured as the peak
of the allocator over forward and backward pass (torch's profiler) and fitted, over sizes drawn at random, to

    4 bytes · L · (a · layers · d · D + b · max(2 V, 3 K) · C)

for D documents (positives and negatives) of L tokens, of which C are decoded at once (`chunk`, or all), V wordpieces
and K keyphrases, whose logits are not held at the same time. The table then applies it to models that do not fit here.
"""

from __future__ import annotations

import random

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile
from transformers import BertConfig, BertForMaskedLM

from sciret.training.backbone import MaskedLanguageModel
from sciret.training.casper import Casper, Shape
from sciret.training.contrastive import Batch, ContrastiveStep, Objective
from sciret.training.reading import Texts

TRIALS = 24
MODELS = {  # layers, d, parameters without keyphrase rows, V, K
    "DistilBERT, 30k keyphrases": (6, 768, 66_985_530, 30_522, 30_000),
    "BERT-base, 30k keyphrases": (12, 768, 109_514_298, 30_522, 30_000),
    "MiniLM-L6 (384), 10k keyphrases": (6, 384, 22_713_216, 30_522, 10_000),
}


def main() -> None:
    torch.set_num_threads(1)
    for chunk in (0, 2):
        sizes = [draw(seed) for seed in range(TRIALS)]
        rows = np.array([terms(**size, chunk=chunk) for size in sizes])
        peaks = np.array([measure(**size, chunk=chunk) for size in sizes])
        coefficients, *_ = np.linalg.lstsq(rows / peaks[:, None], np.ones(TRIALS), rcond=None)
        errors = np.abs(rows @ coefficients / peaks - 1)
        a, b = coefficients
        off = f"off by {errors.mean():.0%} on average, {errors.max():.0%} at most"
        print(f"chunk {chunk or 'all'}: a = {a:.1f}, b = {b:.2f}; {off}")
        for name, model in MODELS.items():
            for batch in (32, 8):
                print(f"  {name}, batch {batch}, 1 negative, length 256: {predict(coefficients, model, batch, chunk)}")


def predict(coefficients: np.ndarray, model: tuple[int, int, int, int, int], batch: int, chunk: int) -> str:
    layers, d, parameters, words, keyphrases = model
    total = parameters + keyphrases * (d + 1)
    besides = float(np.array(terms(2 * batch, 256, layers, d, words, keyphrases, chunk)) @ coefficients)
    return f"{total / 1e6:.0f}M parameters, {16 * total / 1e9:.1f} GB + {besides / 1e9:.1f} GB"


def draw(seed: int) -> dict[str, int]:
    chosen = random.Random(seed)
    return {
        "documents": 2 * chosen.randint(2, 8),
        "length": chosen.choice([32, 64, 96, 128]),
        "layers": chosen.randint(1, 6),
        "d": chosen.choice([32, 64, 128]),
        "words": chosen.choice([500, 2_000, 8_000]),
        "keyphrases": chosen.choice([250, 1_000, 6_000]),
    }


def terms(documents: int, length: int, layers: int, d: int, words: int, keyphrases: int, chunk: int) -> list[float]:
    """What a and b are multiplied by, in bytes."""
    held = min(chunk or documents, documents)
    return [
        4.0 * documents * length * layers * d,
        4.0 * held * length * max(2 * words, 3 * keyphrases),
    ]


def measure(documents: int, length: int, layers: int, d: int, words: int, keyphrases: int, chunk: int) -> float:
    """Peak bytes of one step, without its gradients."""
    config = BertConfig(
        vocab_size=words, hidden_size=d, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=4 * d
    )
    backbone = MaskedLanguageModel(BertForMaskedLM(config))
    step = ContrastiveStep(Casper(backbone, keyphrases, [0], Shape(), chunk), Objective())
    half = documents // 2
    batch = Batch(
        Texts(torch.randint(1, words, (half, 16)), torch.ones(half, 16, dtype=torch.int64)),
        Texts(torch.randint(1, words, (documents, length)), torch.ones(documents, length, dtype=torch.int64)),
        torch.arange(documents),
        torch.ones(half),
        torch.full((half, 2), torch.nan),
    )
    step(batch, 1.0)["loss"].backward()
    step.zero_grad(set_to_none=False)  # so that gradients are there already, and not counted
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        step(batch, 1.0)["loss"].backward()
    events = sorted(
        (event.start_ns(), event.nbytes())
        for event in profiled.profiler.kineto_results.events()
        if event.name() == "[memory]"
    )
    return float(np.cumsum([size for _, size in events]).max())


if __name__ == "__main__":
    main()
