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

    inputs: tuple[str, ...] = ("input_ids", "attention_mask", "spans")
    outputs: tuple[str, ...] = ("dense", "sentences")

    def __init__(self, backbone: nn.Module, pool: Pool) -> None:
        super().__init__()
        self.backbone = backbone
        self.pooling = Pooling(pool)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, spans: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        dense, sentences = self.pooling(hidden, attention_mask, spans)
        return dense, sentences


class SparseEncoder(nn.Module):
    """A backbone with a sparse head."""

    inputs: tuple[str, ...] = ("input_ids", "attention_mask", "content")
    outputs: tuple[str, ...] = ("tokens", "keyphrases")

    def __init__(self, backbone: nn.Module, head: nn.Module, features: Tensor) -> None:
        """`features` [V]: which wordpieces are some. The head need not see to it that the others weigh nothing."""
        super().__init__()
        self.backbone = backbone
        self.head = head
        self.features: Tensor
        self.register_buffer("features", features.to(torch.float32))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, content: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return self.weights(hidden, input_ids, content)

    def weights(self, hidden: Tensor, input_ids: Tensor, content: Tensor) -> tuple[Tensor, Tensor]:
        tokens, keyphrases = self.head(hidden, input_ids, content)
        return tokens * self.features, keyphrases


class OnePassEncoder(nn.Module):
    """Vectors and sparse vectors of the same hidden states."""

    inputs: tuple[str, ...] = ("input_ids", "attention_mask", "spans", "content")
    outputs: tuple[str, ...] = ("dense", "sentences", "tokens", "keyphrases")

    def __init__(self, pooled: PooledEncoder, sparse: SparseEncoder) -> None:
        super().__init__()
        self.pooled = pooled
        self.sparse = sparse

    @property
    def backbone(self) -> nn.Module:
        return self.pooled.backbone

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, spans: Tensor, content: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        hidden = self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        dense, sentences = self.pooled.pooling(hidden, attention_mask, spans)
        tokens, keyphrases = self.sparse.weights(hidden, input_ids, content)
        return dense, sentences, tokens, keyphrases


BundleEncoder = PooledEncoder | SparseEncoder | OnePassEncoder


def export_encoder(encoder: BundleEncoder, path: Path) -> None:
    """Write the graph from the encoder's inputs to its outputs."""
    ids = torch.ones(_BATCH, _LENGTH, dtype=torch.int64)
    try:
        _export(encoder, encoder.inputs, ids, encoder.outputs, path)
    except torch.onnx.errors.OnnxExporterError as error:
        kind = type(encoder.backbone).__name__
        raise BundleError(f"torch's exporter cannot trace {kind} ({_first_line(error)}); try --via optimum") from error


def export_pooling(pool: Pool, dims: int, path: Path) -> None:
    """Write the pooling alone, `hidden, mask, spans -> dense, sentences`, to stand behind another graph."""
    hidden = torch.ones(_BATCH, _LENGTH, dims)
    _export(Pooling(pool), ("hidden", "mask", "spans"), hidden, PooledEncoder.outputs, path)


_BATCH, _LENGTH = 3, 17  # of the example that is traced: no size may be 0 or 1, which would be taken as constant


def _export(module: nn.Module, inputs: tuple[str, ...], text: Tensor, outputs: tuple[str, ...], path: Path) -> None:
    """Text and mask come first; of the other inputs, examples and dynamic axes are known by name."""
    batch, length, sentences, places = (torch.export.Dim(axis) for axis in ("batch", "length", "sentences", "places"))
    mask = torch.ones(_BATCH, _LENGTH, dtype=torch.int64)
    spans = torch.tensor([[1, 5], [5, 9], [0, 0]]).repeat(_BATCH, 1, 1)
    content = torch.tensor([1, 2, 5, 9, -1]).repeat(_BATCH, 1)
    more = {"spans": (spans, {0: batch, 1: sentences}), "content": (content, {0: batch, 1: places})}
    examples, axes = zip(*(more[name] for name in inputs[2:]), strict=True)
    with silence(), torch.no_grad():
        torch.onnx.export(
            module.eval(),
            (text, mask, *examples),
            path,
            dynamo=True,
            verbose=False,
            external_data=False,
            opset_version=OPSET,
            input_names=inputs,
            output_names=outputs,
            dynamic_shapes=({0: batch, 1: length}, {0: batch, 1: length}, *axes),
        )
    onnx.save(without_traces(onnx.load(path)), path)


def _first_line(error: Exception) -> str:
    """The reason that torch's exporter had; its own message is a page of advice."""
    return str(error.__cause__ or error).strip().partition("\n")[0]


def without_traces(model: onnx.ModelProto) -> onnx.ModelProto:
    """torch notes a stack trace with each node: paths of this machine, which also differ from one to the next."""
    graph = model.graph
    for noted in (model, graph, *graph.node, *graph.value_info, *graph.initializer, *graph.input, *graph.output):
        noted.ClearField("metadata_props")
    return model


def _mean(weights: Tensor, hidden: Tensor) -> Tensor:
    """Means of hidden states [B, L, d] under 0/1 weights [B, S, L]: [B, S, d], zero where nothing is selected."""
    weights = weights.to(hidden.dtype)
    return torch.bmm(weights, hidden) / weights.sum(dim=-1, keepdim=True).clamp(min=1)


def _unit(vectors: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / lengths.clamp(min=1e-6)
