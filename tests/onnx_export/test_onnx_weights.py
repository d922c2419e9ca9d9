"""Weights come back out of an ONNX graph exactly, or not at all."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
import torch
from onnx import numpy_helper
from transformers import AutoModel

from sciret.errors import BundleError
from sciret.onnx_export.checkpoint import load_checkpoint
from sciret.onnx_export.optimum_route import _export_backbone


@pytest.fixture(scope="module")
def source(checkpoints: Callable[..., Path]) -> Path:
    """Two heads of 32 dimensions; one of 64 has the same weights."""
    return checkpoints("bert", hidden_size=64, num_hidden_layers=2)


@pytest.fixture(scope="module")
def package(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jar as registries carry them: a graph and a tokenizer somewhere among other files."""
    folder = tmp_path_factory.mktemp("package")
    _export_backbone(AutoModel.from_pretrained(source, attn_implementation="eager"), folder / "tiny.onnx")
    model = onnx.load(folder / "tiny.onnx")
    positions = numpy_helper.from_array(torch.arange(66)[None].numpy(), "embeddings.position_ids")
    model.graph.initializer.append(positions)  # as older exporters leave them
    onnx.save(model, folder / "tiny.onnx")
    with zipfile.ZipFile(folder / "tiny-1.0.jar", "w") as jar:
        jar.write(folder / "tiny.onnx", "models/tiny.onnx")
        jar.write(source / "tokenizer.json", "tiny-tokenizer.json")
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    return folder / "tiny-1.0.jar"


def test_a_package_gives_the_network_it_was_exported_from(package: Path, source: Path) -> None:
    """Every weight is the original's, and so is the number of heads, which no weight tells."""
    checkpoint = load_checkpoint(str(package))
    original = AutoModel.from_pretrained(source, add_pooling_layer=False)
    assert checkpoint.network.config.num_attention_heads == 2
    assert checkpoint.network.config.num_hidden_layers == 2
    for name, weight in original.state_dict().items():
        assert torch.equal(checkpoint.network.state_dict()[name], weight), name
    assert checkpoint.name == "tiny"
    assert checkpoint.provenance["source"] == "tiny-1.0.jar"
    assert checkpoint.tokenizer.truncation is None


def test_an_altered_graph_is_refused(package: Path, source: Path, tmp_path: Path) -> None:
    """The names and shapes fit, but the graph computes something else: found by running it."""
    model = onnx.load(package.parent / "tiny.onnx")
    erf = next(node for node in model.graph.node if node.op_type == "Erf")
    erf.op_type = "Tanh"
    onnx.save(model, tmp_path / "tiny.onnx")
    (tmp_path / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
    with pytest.raises(BundleError, match="computes what this graph does"):
        load_checkpoint(str(tmp_path / "tiny.onnx"))


def test_a_graph_without_berts_names_is_refused(package: Path, source: Path, tmp_path: Path) -> None:
    graph = onnx.helper.make_graph([], "empty", [], [], [numpy_helper.from_array(torch.ones(2).numpy(), "w")])
    onnx.save(onnx.helper.make_model(graph), tmp_path / "other.onnx")
    (tmp_path / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
    with pytest.raises(BundleError, match="transformers folder"):
        load_checkpoint(str(tmp_path / "other.onnx"))


def test_a_package_needs_one_graph_and_one_tokenizer(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.writestr("a.onnx", b"")
        archive.writestr("b.onnx", b"")
    with pytest.raises(BundleError, match=r"exactly one \*\.onnx, found a\.onnx, b\.onnx"):
        load_checkpoint(str(tmp_path / "p.zip"))


def test_a_damaged_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.jar").write_bytes(b"not a zip")
    with pytest.raises(BundleError, match="download it again"):
        load_checkpoint(str(tmp_path / "p.jar"))
