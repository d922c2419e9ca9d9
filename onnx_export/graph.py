"""The graph of a bundle: backbone and pooling in one, exported by torch with every axis dynamic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import onnx
import torch
from torch import Tensor, nn

from sciret.errors import BundleError
from sciret.onnx_export.silence import silence

if TYPE_CHECKING:
    from sciret.onnx_export.export import Pool

OPSET = 18
INPUTS = ("input_ids", "attention_mask", "spans")
OUTPUTS = ("dense", "sentences")


class Pooling(nn.Module):
    """Hidden states to unit vectors: one for the text, one for each span of its tokens."""

    def __init__(self, pool: Pool) -> None:
        super().__init__()
        self.pool = pool

    def forward(self, hidden: Tensor, attention_mask: Tensor, spans: Tensor) -> tuple[Tensor, Tensor]:
        # hidden [B, L, d], attention_mask [B, L], spans [B, S, 2] -> [B, d], [B, S, d]
        position = torch.arange(hidden.shape[1], device=hidden.device)[None, None, :]  # [1, 1, L]
        inside = (position >= spans[:, :, :1]) & (position < spans[:, :, 1:])  # [B, S, L]
        whole = attention_mask[:, None, :]  # [B, 1, L]
        dense = hidden[:, 0] if self.pool == "cls" else _mean(whole, hidden)[:, 0]
        return _unit(dense), _unit(_mean(inside, hidden))


class PooledEncoder(nn.Module):
    """A transformers backbone with its pooling: what a bundle's graph computes."""

    def __init__(self, backbone: nn.Module, pool: Pool) -> None:
        super().__init__()
        self.backbone = backbone
        self.pooling = Pooling(pool)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, spans: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        dense, sentences = self.pooling(hidden, attention_mask, spans)
        return dense, sentences


def export_encoder(encoder: PooledEncoder, path: Path) -> None:
    """Write the graph `input_ids, attention_mask, spans -> dense, sentences`."""
    ids = torch.ones(_BATCH, _LENGTH, dtype=torch.int64)
    try:
        _export(encoder, INPUTS, ids, path)
    except torch.onnx.errors.OnnxExporterError as error:
        kind = type(encoder.backbone).__name__
        raise BundleError(f"torch's exporter cannot trace {kind} ({_first_line(error)}); try --via optimum") from error


def export_pooling(pool: Pool, dims: int, path: Path) -> None:
    """Write the pooling alone, `hidden, mask, spans -> dense, sentences`, to stand behind another graph."""
    _export(Pooling(pool), ("hidden", "mask", "spans"), torch.ones(_BATCH, _LENGTH, dims), path)


_BATCH, _LENGTH = 3, 17  # of the example that is traced: no size may be 0 or 1, which would be taken as constant


def _export(module: nn.Module, inputs: tuple[str, ...], text: Tensor, path: Path) -> None:
    mask = torch.ones(_BATCH, _LENGTH, dtype=torch.int64)
    spans = torch.tensor([[1, 5], [5, 9], [0, 0]]).repeat(_BATCH, 1, 1)
    batch, length, sentences = (torch.export.Dim(axis) for axis in ("batch", "length", "sentences"))
    with silence(), torch.no_grad():
        torch.onnx.export(
            module.eval(),
            (text, mask, spans),
            path,
            dynamo=True,
            verbose=False,
            external_data=False,
            opset_version=OPSET,
            input_names=inputs,
            output_names=OUTPUTS,
            dynamic_shapes=({0: batch, 1: length}, {0: batch, 1: length}, {0: batch, 1: sentences}),
        )
    _drop_traces(path)


def _first_line(error: Exception) -> str:
    """The reason that torch's exporter had; its own message is a page of advice."""
    return str(error.__cause__ or error).strip().partition("\n")[0]


def _drop_traces(path: Path) -> None:
    """torch notes a stack trace with each node: paths of this machine, which also differ from one to the next."""
    model = onnx.load(path)
    graph = model.graph
    for noted in (graph, *graph.node, *graph.value_info, *graph.initializer, *graph.input, *graph.output):
        noted.ClearField("metadata_props")
    onnx.save(model, path)


def _mean(weights: Tensor, hidden: Tensor) -> Tensor:
    """Means of hidden states [B, L, d] under 0/1 weights [B, S, L]: [B, S, d], zero where nothing is selected."""
    weights = weights.to(hidden.dtype)
    return torch.bmm(weights, hidden) / weights.sum(dim=-1, keepdim=True).clamp(min=1)


def _unit(vectors: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / lengths.clamp(min=1e-6)
