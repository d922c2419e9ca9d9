"""The main path: a checkpoint becomes a model bundle, or nothing is written."""

from __future__ import annotations

import importlib
import tempfile
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sciret.encoders.bundle import GRAPHS, TOKENIZER, Bundle, fingerprint, sha256, write_description
from sciret.errors import MissingExtraError, SettingsError
from sciret.onnx_export.target import check_target, put_in_place

if TYPE_CHECKING:
    from sciret.onnx_export.checkpoint import Checkpoint

Route = Literal["torch", "optimum"]
Pool = Literal["cls", "mean"]
Precisions = Literal["fp32", "int8", "both"]

PACKAGES = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime")
LONGEST = 512
"""Tokens read unless more are asked for: the cost of attention grows with their square."""


def export_bundle(
    source: str,
    out: Path,
    *,
    via: Route = "torch",
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
    checkpoint = load_checkpoint(source)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as temporary:
        folder = Path(temporary, "bundle")
        folder.mkdir()
        limit = _length(checkpoint, max_length)
        parity = _write_graphs(checkpoint, folder, via, pooling, precision, limit)
        checkpoint.tokenizer.save(str(folder / TOKENIZER))
        files = {path.name: sha256(path) for path in sorted(folder.iterdir())}
        bundle = Bundle(
            folder=folder,
            name=name or checkpoint.name,
            outputs=("dense", "sentences"),
            dims=checkpoint.network.config.hidden_size,
            max_length=limit,
            files=files,
            fingerprint=fingerprint(files),
            query_prefix=query_prefix,
            paper_prefix=paper_prefix,
            pooling=pooling,
            parity=parity,
            provenance={**checkpoint.provenance, "via": via, "versions": versions},
            licence=licence,
        )
        write_description(bundle)
        put_in_place(folder, out)
    return replace(bundle, folder=out)


def _write_graphs(
    checkpoint: Checkpoint, folder: Path, via: Route, pooling: Pool, precision: Precisions, max_length: int
) -> dict[str, object]:
    """The graphs asked for, each measured against the one it was made from; the figures."""
    from sciret.onnx_export import parity
    from sciret.onnx_export.graph import PooledEncoder, export_encoder
    from sciret.onnx_export.quantize import quantize

    fp32, int8 = folder / GRAPHS["fp32"], folder / GRAPHS["int8"]
    encoder = PooledEncoder(checkpoint.network, pooling)
    if via == "optimum":
        from sciret.onnx_export.optimum_route import export_by_optimum

        export_by_optimum(checkpoint.network, pooling, fp32)
    else:
        export_encoder(encoder, fp32)
    feeds = list(parity.batches(checkpoint.tokenizer, max_length))
    exact = parity.outputs(parity.graph(fp32), feeds)
    figures: dict[str, object] = {"fp32": parity.compare_fp32(parity.outputs(parity.network(encoder), feeds), exact)}
    if precision != "fp32":
        quantize(fp32, int8)
        singly = parity.batches(checkpoint.tokenizer, max_length, size=1)  # as encoders run an int8 graph
        figures["int8"] = parity.compare_int8(exact, parity.outputs(parity.graph(int8), singly))
    if precision == "int8":
        fp32.unlink()
    return figures


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
        return min(most, LONGEST)
    if not 8 <= asked <= most:
        raise SettingsError(f"max length {asked}: {checkpoint.name} reads 8 to {most} tokens")
    return asked
