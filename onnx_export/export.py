"""The main path: a checkpoint becomes a model bundle, or nothing is written."""

from __future__ import annotations

import importlib
import tempfile
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sciret.encoders.bundle import (
    FEATURES,
    GRAPHS,
    KEYPHRASES,
    TOKENIZER,
    Bundle,
    fingerprint,
    sha256,
    write_description,
)
from sciret.errors import MissingExtraError, SettingsError
from sciret.onnx_export.target import check_target, put_in_place

if TYPE_CHECKING:
    from sciret.onnx_export.checkpoint import Checkpoint, SparseHead
    from sciret.onnx_export.graph import BundleEncoder
    from sciret.onnx_export.parity import Outputs as Vectors

Route = Literal["torch", "optimum"]
Pool = Literal["cls", "mean"]
Precisions = Literal["fp32", "int8", "both"]
Outputs = Literal["dense", "sparse", "both"]

PACKAGES = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime")
LONGEST = 512
"""Tokens read unless more are asked for: the cost of attention grows with their square."""


def export_bundle(
    source: str,
    out: Path,
    *,
    backbone: str | None = None,
    via: Route = "torch",
    outputs: Outputs | None = None,
    pooling: Pool = "cls",
    precision: Precisions = "both",
    name: str | None = None,
    licence: str = "",
    query_prefix: str = "",
    paper_prefix: str = "",
    max_length: int | None = None,
    force: bool = False,
) -> Bundle:
    """Turn a checkpoint into the bundle `out`; `docs/bundle.md` says what can be a source and what is written."""
    versions = _require_extra(via)
    from sciret.onnx_export.checkpoint import load_checkpoint

    check_target(out, force)
    checkpoint = _chosen(load_checkpoint(source, backbone), outputs, via)
    encoder, sparse = _encoder(checkpoint, pooling), checkpoint.sparse
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as temporary:
        folder = Path(temporary, "bundle")
        folder.mkdir()
        limit = _length(checkpoint, max_length)
        parity, fused = _write_graphs(checkpoint, encoder, folder, via, pooling, precision, limit)
        checkpoint.tokenizer.save(str(folder / TOKENIZER))
        if sparse:
            _write_features(sparse, folder)
        files = {path.name: sha256(path) for path in sorted(folder.iterdir())}
        bundle = Bundle(
            folder=folder,
            name=name or checkpoint.name,
            outputs=encoder.outputs,
            dims=checkpoint.network.config.hidden_size if "dense" in encoder.outputs else 0,
            max_length=limit,
            files=files,
            fingerprint=fingerprint(files),
            query_prefix=query_prefix,
            paper_prefix=paper_prefix,
            pooling=pooling,
            parity=parity,
            provenance={**checkpoint.provenance, "via": via, "versions": versions, **fused},
            licence=licence,
            sparse=sparse.settings if sparse else None,
        )
        write_description(bundle)
        put_in_place(folder, out)
    return replace(bundle, folder=out)


def _chosen(checkpoint: Checkpoint, outputs: Outputs | None, via: Route) -> Checkpoint:
    """The checkpoint with what is asked of it; unless something is, with what it is for."""
    sparse = checkpoint.sparse
    if sparse is None:
        if outputs not in (None, "dense"):
            raise SettingsError(f"{checkpoint.name} has no sparse head; train one, or leave out --outputs")
        return checkpoint
    if outputs == "dense":
        return replace(checkpoint, sparse=None)
    if via == "optimum":
        raise SettingsError("optimum has no recipe for sparse vectors; use --via torch, or --outputs dense")
    vectors = sparse.vectors if outputs is None else outputs == "both"
    return replace(checkpoint, sparse=replace(sparse, vectors=vectors))


def _encoder(checkpoint: Checkpoint, pooling: Pool) -> BundleEncoder:
    """What is to be computed in one pass."""
    import torch

    from sciret.onnx_export.graph import OnePassEncoder, PooledEncoder, SparseEncoder

    network, head = checkpoint.network, checkpoint.sparse
    if head is None:
        return PooledEncoder(network, pooling)
    sparse = SparseEncoder(network, head.module, torch.from_numpy(head.token_weights > 0))
    return OnePassEncoder(PooledEncoder(network, pooling), sparse) if head.vectors else sparse


def _write_graphs(
    checkpoint: Checkpoint,
    encoder: BundleEncoder,
    folder: Path,
    via: Route,
    pooling: Pool,
    precision: Precisions,
    max_length: int,
) -> tuple[dict[str, object], dict[str, object]]:
    """The graphs asked for, each measured against the one it was made from: the figures, and what was fused."""
    from sciret.onnx_export import parity
    from sciret.onnx_export.graph import export_encoder
    from sciret.onnx_export.quantize import quantize

    fp32, int8 = folder / GRAPHS["fp32"], folder / GRAPHS["int8"]
    if via == "optimum":
        from sciret.onnx_export.optimum_route import export_by_optimum

        export_by_optimum(checkpoint.network, pooling, fp32)
    else:
        export_encoder(encoder, fp32)
    weights = checkpoint.sparse.token_weights if checkpoint.sparse else None
    feeds = list(parity.batches(checkpoint.tokenizer, max_length, token_weights=weights))
    exact = parity.outputs(parity.graph(fp32), feeds)
    figures: dict[str, object] = {"fp32": parity.compare_fp32(parity.outputs(parity.network(encoder), feeds), exact)}
    fused: dict[str, object] = {}
    if precision != "fp32":
        fused["fused"] = quantize(fp32, int8)
        singly = parity.batches(checkpoint.tokenizer, max_length, 1, weights)  # as encoders run an int8 graph
        figures["int8"] = _compare_int8(exact, parity.outputs(parity.graph(int8), singly), checkpoint.sparse)
    if precision == "int8":
        fp32.unlink()
    return figures, fused


def _compare_int8(fp32: Vectors, int8: Vectors, sparse: SparseHead | None) -> dict[str, object]:
    """Figures by output, and of rankings."""
    from sciret.onnx_export.parity import compare_int8
    from sciret.onnx_export.rankings import compare_rankings, overlap

    figures = compare_int8(fp32, int8)
    if sparse:
        for name in ("tokens", "keyphrases"):
            figures[name]["mean_overlap"] = overlap(fp32[name], int8[name], sparse.settings.mass)
    return {**figures, "rankings": compare_rankings(fp32, int8, sparse.settings if sparse else None)}


def _write_features(sparse: SparseHead, folder: Path) -> None:
    """Vocabulary and weights. The archive is written without compression, whose bytes depend on zlib's version."""
    import numpy as np

    (folder / KEYPHRASES).write_text("".join(f"{phrase}\n" for phrase in sparse.keyphrases), encoding="utf-8")
    np.savez(folder / FEATURES, token_weights=sparse.token_weights, keyphrase_weights=sparse.keyphrase_weights)


def _require_extra(via: Route) -> dict[str, str]:
    """Versions of the packages that make the bundle; refuse at once, and in words, where one is missing."""
    try:
        versions = {package: str(importlib.import_module(package).__version__) for package in PACKAGES}
        if via == "optimum":
            versions["optimum-onnx"] = version("optimum-onnx")
    except ModuleNotFoundError as error:
        raise MissingExtraError("sciret export", "export") from error
    return versions


def _length(checkpoint: Checkpoint, asked: int | None) -> int:
    most = checkpoint.max_length
    if asked is None:
        trained = checkpoint.sparse.max_length if checkpoint.sparse else None
        return min(most, LONGEST, trained or LONGEST)
    if not 8 <= asked <= most:
        raise SettingsError(f"max length {asked}: {checkpoint.name} reads 8 to {most} tokens")
    return asked
