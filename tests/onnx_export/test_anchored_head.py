"""The anchored head in a graph computes what it computes in training."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

from sciret.errors import SettingsError
from sciret.onnx_export.anchored_head import AnchoredGraph, load_anchored
from sciret.onnx_export.graph import OnePassEncoder, PooledEncoder, SparseEncoder, export_encoder
from sciret.onnx_export.quantize import quantize
from sciret.training.anchored import AnchoredHead

from .conftest import tiny_network

WORDS, DIMS = 64, 32
IDS = np.array([[2, 7, 9, 7, 11, 3], [2, 8, 3, 0, 0, 0], [2, 5, 6, 3, 0, 0]])
CONTENT = np.array([[1, 2, 3, 4], [1, -1, -1, -1], [-1, -1, -1, -1]])


def make_head(words: torch.Tensor, pooling: str) -> AnchoredHead:
    torch.manual_seed(0)
    head = AnchoredHead(words, torch.arange(len(words)) > 4, 9, hidden=12, pooling=pooling)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.5)
    return head.eval()


@pytest.mark.parametrize("pooling", ["sum", "max"])
def test_the_graphs_head_is_the_trained_one(pooling: str) -> None:
    """With positions that pad, and for a text that has no others."""
    head = make_head(torch.randn(WORDS, DIMS), pooling)
    given = torch.randn(3, 6, DIMS), torch.from_numpy(IDS), torch.from_numpy(CONTENT)
    with torch.no_grad():
        expected, found = head(*given), AnchoredGraph(head)(*given)
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
        assert one[:2].any()
        assert not other[2].any()


def test_it_survives_export_and_quantization(tmp_path: Path) -> None:
    """One pass of a BERT with its vectors: counted words, maxima and sums, in fp32 and near to it in int8."""
    network = tiny_network("bert")
    network.eval()  # type: ignore[no-untyped-call]
    words = cast(nn.Embedding, network.get_input_embeddings()).weight.detach()
    head = make_head(words, "sum")
    sparse = SparseEncoder(network, AnchoredGraph(head), torch.arange(WORDS) > 4)
    encoder = OnePassEncoder(PooledEncoder(network, "cls"), sparse).eval()
    export_encoder(encoder, tmp_path / "fp32.onnx")
    quantize(tmp_path / "fp32.onnx", tmp_path / "int8.onnx")
    feed = {
        "input_ids": IDS,
        "attention_mask": (IDS > 0).astype(np.int64),
        "spans": np.array([[[1, 3]], [[1, 2]], [[1, 3]]]),
        "content": CONTENT,
    }
    with torch.no_grad():
        expected = [each.numpy() for each in encoder(*(torch.from_numpy(array) for array in feed.values()))]
    for one, other in zip(expected, run(tmp_path / "fp32.onnx", feed), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    two = {name: array[:2] for name, array in feed.items()}  # the batch that is traced has three texts
    for one, other in zip(expected, run(tmp_path / "fp32.onnx", two), strict=True):
        np.testing.assert_allclose(one[:2], other, atol=1e-4)
    for one, other in zip(expected, run(tmp_path / "int8.onnx", feed), strict=True):
        assert np.sum(one * other) / np.linalg.norm(one) / np.linalg.norm(other) > 0.98
    weights = onnx.load(tmp_path / "int8.onnx").graph.initializer
    assert not [t.name for t in weights if t.data_type == onnx.TensorProto.FLOAT and len(t.dims) == 2]


def run(path: Path, feed: dict[str, Any]) -> list[Any]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return list(session.run(["dense", "sentences", "tokens", "keyphrases"], feed))


def test_a_head_needs_its_backbone(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--backbone"):
        load_anchored(tmp_path, None)
