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
    from sciret.onnx_export.graph import BundleEncoder

TEXTS = Path(__file__).with_name("parity_texts.txt")
BATCH = 4
"""Texts of very different length together, so that padding is put to the test."""
FP32_LIMIT = 1e-4
INT8_LIMIT = 0.98
SPARSE_INT8_LIMIT = 0.95
"""Weights that come from the largest of many logits, or from a sum of thresholds, feel a rounding more than a mean."""
SPARSE = ("tokens", "keyphrases")

Feed: TypeAlias = Mapping[str, npt.NDArray[np.int64]]
Run: TypeAlias = Callable[[Feed], Mapping[str, Vector]]
"""Inputs of the graph to its outputs: dense [B, d], sentences [B, S, d], tokens [B, V], keyphrases [B, K]."""
Outputs: TypeAlias = Mapping[str, Vector]
"""The same of all n texts together: [n, d], [m, d] without padding, [n, V], [n, K]."""


def batches(
    tokenizer: Tokenizer, max_length: int, size: int = BATCH, token_weights: Vector | None = None
) -> Iterator[Feed]:
    """The shipped texts as inputs of the graph, always in the same order; of a sparse one with `token_weights` [V]."""
    truncating = Tokenizer.from_str(tokenizer.to_str())
    truncating.enable_truncation(max_length)
    texts = [text.splitlines() for text in TEXTS.read_text(encoding="utf-8").strip().split("\n\n")]
    for start in range(0, len(texts), size):
        batch = texts[start : start + size]
        encodings = truncating.encode_batch([" ".join(sentences) for sentences in batch])
        spans = [list(_spans(e, sentences)) for e, sentences in zip(encodings, batch, strict=True)]
        feed = _feed(encodings, spans)
        yield feed if token_weights is None else {**feed, "content": _content(encodings, token_weights)}


def network(encoder: BundleEncoder) -> Run:
    import torch

    def run(feed: Feed) -> Mapping[str, Vector]:
        with torch.no_grad():
            found = encoder.eval()(*(torch.from_numpy(feed[name]) for name in encoder.inputs))
        return {name: output.numpy() for name, output in zip(encoder.outputs, found, strict=True)}

    return run


def graph(path: Path) -> Run:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    inputs, outputs = ([each.name for each in some] for some in (session.get_inputs(), session.get_outputs()))

    def run(feed: Feed) -> Mapping[str, Vector]:
        found = session.run(outputs, {name: feed[name] for name in inputs})
        return dict(zip(outputs, found, strict=True))

    return run


def outputs(run: Run, feeds: Iterable[Feed]) -> Outputs:
    """Padding spans are left out: their zero vectors would agree with anything."""
    found: dict[str, list[Vector]] = {}
    for feed in feeds:
        for name, vectors in run(feed).items():
            rows = vectors[feed["spans"][:, :, 1] > 0] if name == "sentences" else vectors
            found.setdefault(name, []).append(rows)
    return {name: np.concatenate(parts) for name, parts in found.items()}


def compare_fp32(network: Outputs, graph: Outputs) -> dict[str, Any]:
    """Largest absolute differences; a graph that is not the network is refused.

    Weights have no unit length, so a difference is seen beside the largest of them.
    """
    figures, worst = {}, 0.0
    for name, expected in network.items():
        difference = np.abs(expected - graph[name]).max(initial=0)
        scale = max(1.0, float(np.abs(expected).max(initial=0))) if name in SPARSE else 1.0
        figures[name] = {"max_abs_difference": rounded(difference)}
        worst = np.maximum(worst, difference / scale)  # NaN stays NaN
    if not worst <= FP32_LIMIT:  # NaN is refused too
        raise BundleError(
            f"parity is broken: the fp32 graph differs from the torch network by {worst:g}, at most {FP32_LIMIT:g} is "
            f"allowed. No bundle was written. The other route (--via torch or --via optimum) may trace it right."
        )
    return figures


def compare_int8(fp32: Outputs, int8: Outputs) -> dict[str, Any]:
    """Mean and lowest cosine to fp32; a graph that quantization has ruined is refused."""
    figures = {name: _cosines(fp32[name], int8[name]) for name in fp32}
    for name, figure in figures.items():
        least = SPARSE_INT8_LIMIT if name in SPARSE else INT8_LIMIT
        if not figure["mean_cosine"] >= least:
            raise BundleError(
                f"parity is broken: {name} of the int8 graph have a mean cosine of {figure['mean_cosine']:.4f} to "
                f"those of the fp32 graph, at least {least} is needed. No bundle was written. Use --precision fp32 for "
                f"this model."
            )
    return figures


def _cosines(a: Vector, b: Vector) -> dict[str, float]:
    """Of rows [n, d]. Two that are zero agree; one that is says nothing, and has 0."""
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    same = ~a.any(axis=1) & ~b.any(axis=1)
    cosines = np.where(same, 1, np.sum(a * b, axis=1) / np.where(lengths == 0, 1, lengths))
    return {"mean_cosine": rounded(cosines.mean()), "min_cosine": rounded(cosines.min())}


def rounded(figure: Any) -> float:
    return float(f"{figure:.4g}")


def _content(encodings: Sequence[Encoding], token_weights: Vector) -> npt.NDArray[np.int64]:
    """As encoders feed it: positions of what weighs, padded with -1."""
    found = [np.flatnonzero(token_weights[encoding.ids] > 0) for encoding in encodings]
    content = np.full((len(found), max(1, *map(len, found))), -1, dtype=np.int64)  # [B, P]
    for row, each in zip(content, found, strict=True):
        row[: len(each)] = each
    return content


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
