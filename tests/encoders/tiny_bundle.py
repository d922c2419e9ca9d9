"""Bundles with a very small fp32 graph that keeps the contract: vectors are sums of random word vectors.

Every seed is another model, and papers that share words are near each other in each of them.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save_model

from sciret.encoders.bundle import TOKENIZER, Bundle, fingerprint, load_bundle, sha256, write_description

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


def tiny_bundle(folder: Path, *, seed: int = 7, dims: int = 16) -> str:
    """Written into the folder, with the tokenizer of the default bundle; the name to open it by."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(load_bundle("default").path(TOKENIZER), folder)
    save_graph(folder / "model.onnx", ("dense", "sentences"), seed, dims)
    files = {path.name: sha256(path) for path in folder.iterdir()}
    outputs = ("dense", "sentences")
    write_description(Bundle(folder, f"tiny-{seed}", outputs, dims, 256, files, fingerprint(files)))
    return str(folder)


def save_graph(path: Path, outputs: tuple[str, ...], seed: int, dims: int) -> None:
    table = np.random.default_rng(seed).standard_normal((VOCABULARY, dims)).astype(np.float32)
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
