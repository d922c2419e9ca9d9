"""A checkpoint becomes a bundle whose graph computes what the network does."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

from sciret.encoders.bundle import Bundle, load_bundle
from sciret.errors import BundleError, MissingExtraError, SettingsError
from sciret.onnx_export.checkpoint import load_checkpoint
from sciret.onnx_export.export import export_bundle
from sciret.onnx_export.graph import PooledEncoder, export_encoder

Make = Callable[..., Path]
Arrays = dict[str, np.ndarray[Any, Any]]


def feed(lengths: list[int], spans: list[list[tuple[int, int]]]) -> Arrays:
    """Ids of the tiny vocabulary, padded with 0."""
    ids = np.zeros((len(lengths), max(lengths)), dtype=np.int64)
    for row, length in enumerate(lengths):
        ids[row, :length] = np.random.default_rng(row).integers(5, 50, size=length)
    return {"input_ids": ids, "attention_mask": (ids > 0).astype(np.int64), "spans": np.array(spans, dtype=np.int64)}


def run(path: Path, inputs: Arrays) -> list[Any]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return list(session.run(["dense", "sentences"], inputs))


def hidden(source: Path, inputs: Arrays) -> Any:
    """Hidden states [B, L, d] by transformers alone."""
    network = AutoModel.from_pretrained(source).eval()
    with torch.no_grad():
        ids, mask = (torch.from_numpy(inputs[name]) for name in ("input_ids", "attention_mask"))
        return network(input_ids=ids, attention_mask=mask).last_hidden_state.numpy()


def unit(vector: Any) -> Any:
    return vector / np.linalg.norm(vector)


def test_a_bundle_passes_its_own_verification(bundle: Bundle) -> None:
    """What is returned is what is read back, with graphs of both precisions, and the figures in JSON."""
    assert load_bundle(str(bundle.folder)) == bundle
    assert bundle.precisions == ("fp32", "int8")
    assert (bundle.dims, bundle.max_length, bundle.query_prefix, bundle.licence) == (32, 40, "query: ", "CC0-1.0")
    written = json.loads((bundle.folder / "bundle.json").read_text(encoding="utf-8"))
    assert written["parity"]["fp32"]["sentences"]["max_abs_difference"] <= 1e-4
    assert 0.98 <= written["parity"]["int8"]["dense"]["mean_cosine"] <= 1.001


def test_graph_pools_as_documented(bundle: Bundle, source: Path) -> None:
    """dense is the unit vector of the first token, a sentence the unit mean of its span, whatever the padding."""
    inputs = feed([9, 5], [[(1, 4), (4, 8)], [(1, 4), (0, 0)]])
    dense, sentences = run(bundle.path("model.onnx"), inputs)
    states = hidden(source, inputs)
    for row in range(2):
        assert dense[row] == pytest.approx(unit(states[row, 0]), abs=1e-5)
    assert sentences[0, 1] == pytest.approx(unit(states[0, 4:8].mean(axis=0)), abs=1e-5)
    assert sentences[1, 0] == pytest.approx(unit(states[1, 1:4].mean(axis=0)), abs=1e-5)


@pytest.mark.parametrize("graph", ["model.onnx", "model.int8.onnx"])
def test_padding_spans_are_zero_vectors(bundle: Bundle, graph: str) -> None:
    """No NaN where a text has fewer sentences than its neighbours."""
    _, sentences = run(bundle.path(graph), feed([9, 5], [[(1, 4), (4, 8)], [(1, 4), (0, 0)]]))
    assert not sentences[1, 1].any()
    assert np.linalg.norm(sentences[[0, 0, 1], [0, 1, 0]], axis=1) == pytest.approx(np.ones(3), abs=1e-5)


@pytest.mark.parametrize(("lengths", "sentences"), [([1], 1), ([40], 7), ([3, 12, 40, 2, 8], 2)])
def test_every_axis_is_dynamic(bundle: Bundle, lengths: list[int], sentences: int) -> None:
    """One text or several, one token or the most, any number of sentences."""
    spans = [[(0, 1)] * sentences for _ in lengths]
    dense, vectors = run(bundle.path("model.int8.onnx"), feed(lengths, spans))
    assert dense.shape == (len(lengths), 32)
    assert vectors.shape == (len(lengths), sentences, 32)


def test_tokenizer_neither_pads_nor_truncates(bundle: Bundle) -> None:
    """Both were set in the checkpoint; the encoder decides them."""
    tokenizer = Tokenizer.from_file(str(bundle.path("tokenizer.json")))
    assert tokenizer.padding is None
    assert tokenizer.truncation is None
    assert len(tokenizer.encode("a long enough text").ids) == 17


def test_graphs_are_standard_and_carry_no_trace_of_the_machine(bundle: Bundle) -> None:
    """fp32 has operators of ONNX alone, so any runtime can run it, int8 has fused ones of onnxruntime too; no path of
    the exporting machine, so exports repeat."""
    for name, domains in (("model.onnx", {""}), ("model.int8.onnx", {"", "com.microsoft"})):
        model = onnx.load(bundle.path(name))
        assert {node.domain for node in model.graph.node} == domains
        assert b".py" not in bundle.path(name).read_bytes()
    assert bundle.provenance["fused"] == {"attention": 1, "gelu": 1}


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("architecture", ["distilbert", "roberta"])
def test_other_architectures_by_torch(checkpoints: Make, tmp_path: Path, architecture: str) -> None:
    """fp32 alone and mean pooling, measured against the network: the mean runs over the real tokens only."""
    source = checkpoints(architecture)
    made = export_bundle(str(source), tmp_path / "bundle", precision="fp32", pooling="mean")
    assert made.precisions == ("fp32",)
    inputs = feed([9, 5], [[(1, 4)], [(1, 4)]])
    dense, _ = run(made.path("model.onnx"), inputs)
    assert dense[1] == pytest.approx(unit(hidden(source, inputs)[1, :5].mean(axis=0)), abs=1e-5)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("architecture", ["bert", "mpnet"])
def test_other_architectures_by_optimum(checkpoints: Make, tmp_path: Path, architecture: str) -> None:
    """optimum exports the backbone, our pooling stands behind it, and the graph is the same to an encoder."""
    source = checkpoints(architecture)
    made = export_bundle(str(source), tmp_path / "bundle", via="optimum", precision="int8", pooling="mean")
    assert made.precisions == ("int8",)
    assert not made.path("model.onnx").exists()
    assert made.provenance["via"] == "optimum"
    dense, sentences = run(made.path("model.int8.onnx"), feed([9, 5], [[(1, 4), (4, 8)], [(1, 4), (0, 0)]]))
    assert dense.shape == (2, 32)
    assert not sentences[1, 1].any()


def test_roberta_has_fewer_positions_than_embeddings(checkpoints: Make) -> None:
    """Its positions begin after the padding id; asking for all 66 would fail in the middle of an ingest."""
    assert load_checkpoint(str(checkpoints("roberta"))).max_length == 65
    assert load_checkpoint(str(checkpoints("bert"))).max_length == 66


def test_refuses_a_length_that_the_network_cannot_read(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="8 to 66 tokens"):
        export_bundle(str(source), tmp_path / "bundle", max_length=67)
    assert not list(tmp_path.iterdir())


def test_refuses_a_tokenizer_of_another_network(checkpoints: Make, tmp_path: Path) -> None:
    """Found at once, instead of as an index error in the middle of an ingest."""
    with pytest.raises(BundleError, match="do not belong together"):
        export_bundle(str(checkpoints("bert", vocab_size=40)), tmp_path / "bundle")


def test_refuses_a_network_with_a_decoder(checkpoints: Make, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="give an encoder"):
        export_bundle(str(checkpoints("t5", num_layers=1, num_heads=2, d_model=32, d_kv=16)), tmp_path / "bundle")


def test_points_to_the_other_route_where_torch_cannot_trace(tmp_path: Path) -> None:
    """A network whose path depends on what it reads."""

    class Unsteady(torch.nn.Module):
        def forward(self, **inputs: torch.Tensor) -> Any:
            raise TypeError("it depends") if inputs["input_ids"].sum() > 3 else ValueError

    with pytest.raises(BundleError, match=r"cannot trace Unsteady .*--via optimum"):
        export_encoder(PooledEncoder(Unsteady(), "cls"), tmp_path / "model.onnx")


def test_refuses_a_source_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no checkpoint there"):
        export_bundle(str(tmp_path / "nothing"), tmp_path / "bundle")


def test_names_the_extra_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before anything is read or written."""
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sciret\[export\]'"):
        export_bundle("anything", tmp_path / "bundle")
