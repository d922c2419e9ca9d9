"""What is done to a graph before it becomes int8."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from sciret.encoders.bundle import Bundle
from sciret.onnx_export import fusion
from sciret.onnx_export.fusion import fuse
from sciret.onnx_export.quantize import quantize, turn_weights

TABLE = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)


def tied() -> onnx.ModelProto:
    """Embeddings that are the decoder's rows too: looked up, and transposed before a product."""
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["states"]),
        helper.make_node("Transpose", ["table"], ["turned"], perm=[1, 0]),
        helper.make_node("MatMul", ["states", "turned"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "tied",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 40])],
        [numpy_helper.from_array(TABLE, "table")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def run(model: onnx.ModelProto | Path) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    graph = str(model) if isinstance(model, Path) else model.SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    return session.run(None, {"ids": np.arange(9)})[0]  # type: ignore[no-any-return]


def test_a_transposed_matrix_is_turned_and_the_table_stays() -> None:
    model = tied()
    before = run(model)
    turn_weights(model.graph)
    assert [node.op_type for node in model.graph.node] == ["Gather", "MatMul"]
    assert {tensor.name: list(tensor.dims) for tensor in model.graph.initializer} == {
        "table": [40, 8],
        "turned": [8, 40],
    }
    np.testing.assert_array_equal(run(model), before)


def test_both_uses_of_tied_weights_are_quantized(tmp_path: Path) -> None:
    """A scale for each row of the decoder; nothing to fuse is no error."""
    onnx.save(tied(), tmp_path / "model.onnx")
    assert quantize(tmp_path / "model.onnx", tmp_path / "int8.onnx") == {"attention": 0, "gelu": 0}
    weights = onnx.load(tmp_path / "int8.onnx").graph.initializer
    assert not [t.name for t in weights if t.data_type == TensorProto.FLOAT and len(t.dims) == 2]
    assert any(list(t.dims) == [40] for t in weights)
    exact = run(tmp_path / "model.onnx")
    assert np.abs(run(tmp_path / "int8.onnx") - exact).max() < 0.05 * np.abs(exact).max()


def test_fused_graphs_compute_the_same(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention and GELU of a BERT are found; what onnxscript fails on is left as it is."""
    model = onnx.load(bundle.path("model.onnx"))
    fused, counts = fuse(model)
    assert counts == {"attention": 1, "gelu": 1}
    ids = np.array([[2, 7, 9, 11, 3], [2, 8, 3, 0, 0]])
    feed = {"input_ids": ids, "attention_mask": (ids > 0).astype(np.int64), "spans": np.array([[[1, 3]], [[1, 2]]])}
    for one, other in zip(*(_outputs(graph, feed) for graph in (model, fused)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)

    def fails(*_: object, **__: object) -> int:
        raise AttributeError("no such pattern")

    monkeypatch.setattr(fusion, "fuse_sdpa", fails)
    assert fuse(model) == (model, {"attention": 0, "gelu": 0})


def _outputs(model: onnx.ModelProto, feed: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]) -> list[object]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, feed))
