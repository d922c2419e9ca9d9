from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save_model

from sciret.encoders.bundle import TOKENIZER, Bundle, fingerprint, load_bundle, sha256, write_description
from sciret.encoders.encoder import Encoder
from sciret.encoders.text import TextReader

DIMS = 8
VOCABULARY = 30522
GRAPH = [
    ("Gather", ["table", "input_ids"], ["words"]),  # [B, L, d]
    ("Cast", ["attention_mask"], ["mask"]),
    ("Unsqueeze", ["mask", "one"], ["all_tokens"]),  # [B, 1, L]
    ("MatMul", ["all_tokens", "words"], ["sum"]),  # [B, 1, d]
    ("LpNormalization", ["sum"], ["unit"]),
    ("Squeeze", ["unit", "one"], ["dense"]),  # [B, d]
    ("Shape", ["input_ids"], ["shape"]),
    ("Gather", ["shape", "one_scalar"], ["length"]),
    ("Range", ["zero_scalar", "length", "one_scalar"], ["positions"]),  # [L]
    ("Split", ["spans"], ["start", "end"]),  # [B, S, 1] each
    ("GreaterOrEqual", ["positions", "start"], ["after"]),  # [B, S, L]
    ("Less", ["positions", "end"], ["before"]),
    ("And", ["after", "before"], ["inside"]),
    ("Cast", ["inside"], ["weights"]),
    ("MatMul", ["weights", "words"], ["sums"]),  # [B, S, d]
    ("LpNormalization", ["sums"], ["sentences"]),
]
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "Cast": {"to": TensorProto.FLOAT},
    "LpNormalization": {"axis": -1, "p": 2},
    "Split": {"axis": 2, "num_outputs": 2},
}

MakeBundle = Callable[..., str]


@pytest.fixture(scope="session")
def default_bundle() -> Bundle:
    return load_bundle("default")


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """The shipped model, as users run it."""
    return Encoder.open("default", device="cpu")


@pytest.fixture(scope="session")
def reader(default_bundle: Bundle) -> TextReader:
    return TextReader(default_bundle)


@pytest.fixture(scope="session")
def make_bundle(default_bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> MakeBundle:
    """Writes a bundle with a very small fp32 graph that keeps the contract: vectors are sums of word vectors."""

    def make(outputs: tuple[str, ...] = ("dense", "sentences"), graph: bytes | None = None, **fields: str | int) -> str:
        folder = tmp_path_factory.mktemp("bundle")
        shutil.copy(default_bundle.path(TOKENIZER), folder)
        if graph is None:
            _save_graph(folder / "model.onnx", outputs)
        else:
            (folder / "model.onnx").write_bytes(graph)
        files = {path.name: sha256(path) for path in folder.iterdir()}
        about = {"name": "small", "dims": DIMS, "max_length": 64, **fields}
        write_description(Bundle(folder, outputs=outputs, files=files, fingerprint=fingerprint(files), **about))  # type: ignore[arg-type]
        return str(folder)

    return make


@pytest.fixture(scope="session")
def small_encoder(make_bundle: MakeBundle) -> Encoder:
    """Runs in fp32, hence in batches."""
    return Encoder.open(make_bundle(), device="cpu", threads=2)


def _save_graph(path: Path, outputs: tuple[str, ...]) -> None:
    table = np.random.default_rng(7).standard_normal((VOCABULARY, DIMS)).astype(np.float32)
    constants = {"table": table, "one": [1], "one_scalar": 1, "zero_scalar": 0}
    inputs: dict[str, list[str | int | None]] = {
        "input_ids": ["B", "L"],
        "attention_mask": ["B", "L"],
        "spans": ["B", "S", 2],
    }
    graph = helper.make_graph(
        [helper.make_node(op, given, made, **ATTRIBUTES.get(op, {})) for op, given, made in GRAPH],
        "small",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
