"""Does the graph compute what the network does? Measured on text before a bundle is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding, Tokenizer

from sciret.encoded import Vector
from sciret.errors import BundleError

if TYPE_CHECKING:
    from sciret.onnx_export.graph import PooledEncoder

TEXTS = Path(__file__).with_name("parity_texts.txt")
BATCH = 4
"""Texts of very different length together, so that padding is put to the test."""
FP32_LIMIT = 1e-4
INT8_LIMIT = 0.98

Feed: TypeAlias = Mapping[str, npt.NDArray[np.int64]]
Run: TypeAlias = Callable[[Feed], Sequence[Vector]]
"""Inputs of the graph to its outputs, dense [B, d] and sentences [B, S, d]."""
Outputs: TypeAlias = tuple[Vector, Vector]
"""All dense vectors [n, d] and all sentence vectors [m, d] of the texts."""


def batches(tokenizer: Tokenizer, max_length: int, size: int = BATCH) -> Iterator[Feed]:
    """The shipped texts as inputs of the graph, always in the same order."""
    truncating = Tokenizer.from_str(tokenizer.to_str())
    truncating.enable_truncation(max_length)
    texts = [text.splitlines() for text in TEXTS.read_text(encoding="utf-8").strip().split("\n\n")]
    for start in range(0, len(texts), size):
        batch = texts[start : start + size]
        encodings = truncating.encode_batch([" ".join(sentences) for sentences in batch])
        spans = [list(_spans(e, sentences)) for e, sentences in zip(encodings, batch, strict=True)]
        yield _feed(encodings, spans)


def network(encoder: PooledEncoder) -> Run:
    import torch

    def run(feed: Feed) -> Sequence[Vector]:
        with torch.no_grad():
            return [output.numpy() for output in encoder.eval()(*(torch.from_numpy(feed[name]) for name in feed))]

    return run


def graph(path: Path) -> Run:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda feed: session.run(["dense", "sentences"], feed)


def outputs(run: Run, feeds: Iterable[Feed]) -> Outputs:
    """Padding spans are left out: their zero vectors would agree with anything."""
    dense, sentences = [], []
    for feed in feeds:
        d, s = run(feed)
        dense.append(d)
        sentences.append(s[feed["spans"][:, :, 1] > 0])
    return np.concatenate(dense), np.concatenate(sentences)


def compare_fp32(network: Outputs, graph: Outputs) -> dict[str, Any]:
    """Largest absolute differences; a graph that is not the network is refused."""
    figures = _by_output(network, graph, lambda a, b: {"max_abs_difference": _rounded(np.abs(a - b).max())})
    worst = max(figure["max_abs_difference"] for figure in figures.values())
    if not worst <= FP32_LIMIT:  # NaN is refused too
        raise BundleError(
            f"parity is broken: the fp32 graph differs from the torch network by {worst:g}, at most {FP32_LIMIT:g} is "
            f"allowed. No bundle was written. The other route (--via torch or --via optimum) may trace it right."
        )
    return figures


def compare_int8(fp32: Outputs, int8: Outputs) -> dict[str, Any]:
    """Mean and lowest cosine to fp32; a graph that quantization has ruined is refused."""
    figures = _by_output(fp32, int8, lambda a, b: _cosines(np.sum(a * b, axis=1)))
    worst = min(figure["mean_cosine"] for figure in figures.values())
    if not worst >= INT8_LIMIT:
        raise BundleError(
            f"parity is broken: the int8 graph has a mean cosine of {worst:.4f} to the fp32 graph, at least "
            f"{INT8_LIMIT} is needed. No bundle was written. Use --precision fp32 for this model."
        )
    return figures


def _by_output(a: Outputs, b: Outputs, measure: Callable[[Vector, Vector], dict[str, float]]) -> dict[str, Any]:
    return {name: measure(x, y) for name, x, y in zip(("dense", "sentences"), a, b, strict=True)}


def _cosines(cosines: Vector) -> dict[str, float]:
    return {"mean_cosine": _rounded(cosines.mean()), "min_cosine": _rounded(cosines.min())}


def _rounded(figure: np.floating[Any]) -> float:
    return float(f"{figure:.4g}")


def _spans(encoding: Encoding, sentences: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Token span of each sentence that has a token left after truncation."""
    start = 0
    for sentence in sentences:
        end = start + len(sentence)
        inside = [t for t, (a, b) in enumerate(encoding.offsets) if a < b and start <= a < end]
        if inside:
            yield inside[0], inside[-1] + 1
        start = end + 1  # the joining space


def _feed(encodings: Sequence[Encoding], spans: Sequence[Sequence[tuple[int, int]]]) -> Feed:
    length = max(len(e.ids) for e in encodings)
    ids = np.zeros((len(encodings), length), dtype=np.int64)  # [B, L]
    mask = np.zeros_like(ids)
    padded = np.zeros((len(encodings), max(map(len, spans)), 2), dtype=np.int64)  # [B, S, 2]
    for row, (encoding, found) in enumerate(zip(encodings, spans, strict=True)):
        ids[row, : len(encoding.ids)] = encoding.ids
        mask[row, : len(encoding.ids)] = 1
        padded[row, : len(found)] = found
    return {"input_ids": ids, "attention_mask": mask, "spans": padded}
