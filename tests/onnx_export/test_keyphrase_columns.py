"""Columns of the keyphrase decoder are found in a graph by what it computes, and changed without touching others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from sciret.encoders.bundle import GRAPHS, load_bundle
from sciret.errors import BundleError
from sciret.onnx_export.keyphrase_columns import Columns, find_decoder, read_columns, replace_columns

from .decoder_bundle import BIAS, DIMS, PHRASES, VOCABULARY, decoder_bundle


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    bundle = load_bundle(decoder_bundle(tmp_path_factory.mktemp("bundle")))
    return {precision: bundle.path(GRAPHS[precision]) for precision in bundle.precisions}


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_column_is_a_row_a_bias_and_a_factor(graphs: dict[str, Path], precision: str) -> None:
    model = onnx.load(graphs[precision])
    decoder = find_decoder(model, "keyphrases", len(PHRASES))
    columns = read_columns(model, decoder)
    assert decoder.states == "states"
    assert columns.rows.shape == (len(PHRASES), DIMS)
    assert np.linalg.norm(columns.rows, axis=1) == pytest.approx(1, rel=0.01)
    assert set(columns.vectors) == {"bias", "factor"}
    assert (columns.vectors["bias"] == BIAS).all()


def test_quantized_rows_are_read_as_what_they_stand_for(graphs: dict[str, Path]) -> None:
    fp32, int8 = (
        read_columns(model, find_decoder(model, "keyphrases", len(PHRASES))).rows
        for model in (onnx.load(graphs["fp32"]), onnx.load(graphs["int8"]))
    )
    assert np.abs(fp32 - int8).max() < 0.01


def test_wordpieces_have_their_own_decoder(graphs: dict[str, Path]) -> None:
    model = onnx.load(graphs["fp32"])
    assert find_decoder(model, "tokens", len(VOCABULARY)).matrix == "words"


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_replaced_columns(graphs: dict[str, Path], precision: str) -> None:
    """Kept ones stay bit by bit, and added ones are read back as they were given."""
    model = onnx.load(graphs[precision])
    decoder = find_decoder(model, "keyphrases", len(PHRASES))
    before, kept = read_columns(model, decoder), np.array([5, 2])
    rows = np.random.default_rng(1).standard_normal((3, DIMS)).astype(np.float32)
    vectors = {"bias": np.array([-1, -2, -3], np.float32), "factor": np.array([1, 2, 3], np.float32)}
    replace_columns(model, decoder, "keyphrases", kept, Columns(rows, vectors))
    after = read_columns(model, find_decoder(model, "keyphrases", 5))
    assert (after.rows[:2] == before.rows[kept]).all()
    assert after.rows[2:] == pytest.approx(rows, abs=0 if precision == "fp32" else float(np.abs(rows).max() / 100))
    assert after.vectors["bias"].tolist() == [BIAS, BIAS, -1, -2, -3]
    assert after.vectors["factor"].tolist()[2:] == [1, 2, 3]
    assert model.graph.output[1].type.tensor_type.shape.dim[1].dim_value == 5
    onnx.checker.check_model(model)


def test_a_matrix_kept_the_other_way_round(graphs: dict[str, Path]) -> None:
    """As exporters leave it where it is too large to be turned around beforehand."""
    model = onnx.load(graphs["fp32"])
    expected = read_columns(model, find_decoder(model, "keyphrases", len(PHRASES))).rows
    for tensor in model.graph.initializer:
        if tensor.name == "rows":
            tensor.CopyFrom(onnx.numpy_helper.from_array(expected, "turned"))
    model.graph.node.insert(0, onnx.helper.make_node("Transpose", ["turned"], ["rows"], perm=[1, 0]))
    decoder = find_decoder(model, "keyphrases", len(PHRASES))
    assert decoder.transposed
    assert (read_columns(model, decoder).rows == expected).all()
    replace_columns(model, decoder, "keyphrases", np.arange(3), read_columns(model, decoder).take(np.array([7])))
    assert (read_columns(model, find_decoder(model, "keyphrases", 4)).rows == expected[[0, 1, 2, 7]]).all()


def test_a_graph_without_such_a_matrix_is_refused(graphs: dict[str, Path]) -> None:
    with pytest.raises(BundleError, match="no matrix of 7 keyphrases"):
        find_decoder(onnx.load(graphs["fp32"]), "keyphrases", 7)
