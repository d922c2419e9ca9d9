"""Bundles whose sparse vectors can be worked out by hand: a wordpiece weighs as often as it stands at a content
position, a keyphrase as much as its wordpieces together."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, compose, helper, load_model, numpy_helper, save_model
from tokenizers import Tokenizer

from sciret.encoders.bundle import (
    FEATURES,
    KEYPHRASES,
    TOKENIZER,
    Bundle,
    Sparse,
    fingerprint,
    load_bundle,
    sha256,
    write_description,
)

from .tiny_bundle import save_graph

PHRASES = ("coral reef", "desert dune", "enzyme", "sand")
STOP = ("the", "of", ".", ",")
VOCABULARY = 30522
SPARSE = [
    ("Max", ["content", "zero"], ["places"]),  # [B, P]
    ("GatherElements", ["input_ids", "places"], ["words"]),  # [B, P]
    ("OneHot", ["words", "depth", "off_on"], ["hot"]),  # [B, P, V]
    ("GreaterOrEqual", ["content", "zero"], ["there"]),
    ("Cast", ["there"], ["real"]),
    ("Unsqueeze", ["real", "one"], ["rows"]),  # [B, 1, P]
    ("MatMul", ["rows", "hot"], ["sums"]),  # [B, 1, V]
    ("Squeeze", ["sums", "one"], ["tokens"]),  # [B, V]
    ("MatMul", ["tokens", "phrases"], ["keyphrases"]),  # [B, K]
    ("Identity", ["attention_mask"], ["unused"]),
]
ATTRIBUTES: dict[str, dict[str, Any]] = {"GatherElements": {"axis": 1}, "Cast": {"to": TensorProto.FLOAT}}


def sparse_bundle(
    folder: Path,
    *,
    vectors: bool = False,
    arrays: dict[str, npt.NDArray[Any]] | None = None,
    phrases: tuple[str, ...] = PHRASES,
    sparse: Sparse | None = None,
    **fields: Any,
) -> str:
    """Written into the folder, with the tokenizer of the default bundle; the name to open it by."""
    shutil.copy(load_bundle("default").path(TOKENIZER), folder)
    _save(folder / "model.onnx", vectors)
    (folder / KEYPHRASES).write_text("".join(f"{phrase}\n" for phrase in phrases), encoding="utf-8")
    np.savez(folder / FEATURES, **(weights() if arrays is None else arrays))
    files = {path.name: sha256(path) for path in folder.iterdir()}
    outputs = (*(("dense", "sentences") if vectors else ()), "tokens", "keyphrases")
    about = {"name": "counts", "dims": 8 if vectors else 0, "max_length": 64, **fields}
    given: dict[str, Any] = {
        "outputs": outputs,
        "files": files,
        "fingerprint": fingerprint(files),
        "sparse": sparse or Sparse(),
    }
    write_description(Bundle(folder, **about, **given))
    return str(folder)


def weights() -> dict[str, npt.NDArray[np.float32]]:
    """Special tokens and stop words are no features; each wordpiece weighs 2 in a query, keyphrase k weighs k + 1."""
    tokens = np.full(VOCABULARY, 2, np.float32)
    tokens[:999] = 0  # specials, unused ones
    tokens[[number(word) for word in STOP]] = 0
    return {"token_weights": tokens, "keyphrase_weights": np.arange(1, len(PHRASES) + 1, dtype=np.float32)}


def number(word: str) -> int:
    found = _TOKENIZER.token_to_id(word)
    assert found is not None
    return int(found)


_TOKENIZER = Tokenizer.from_file(str(load_bundle("default").path(TOKENIZER)))


def _save(path: Path, vectors: bool) -> None:
    table = np.zeros((VOCABULARY, len(PHRASES)), np.float32)
    for column, phrase in enumerate(PHRASES):
        table[_TOKENIZER.encode(phrase, add_special_tokens=False).ids, column] = 1
    constants = {"zero": 0, "one": [1], "depth": VOCABULARY, "off_on": np.array([0, 1], np.float32), "phrases": table}
    inputs: dict[str, list[str | int | None]] = {
        "input_ids": ["B", "L"],
        "attention_mask": ["B", "L"],
        "content": ["B", "P"],
    }
    outputs: dict[str, list[str | int | None]] = {"tokens": ["B", VOCABULARY], "keyphrases": ["B", len(PHRASES)]}
    graph = helper.make_graph(
        [helper.make_node(op, given, made, **ATTRIBUTES.get(op, {})) for op, given, made in SPARSE],
        "counts",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    if vectors:
        save_graph(path, ("dense", "sentences"), 7, 8)
        other = compose.add_prefix(load_model(path), "v/", rename_inputs=False, rename_outputs=False)
        for part in ("node", "initializer", "output"):
            getattr(model.graph, part).extend(getattr(other.graph, part))
        model.graph.input.extend(value for value in other.graph.input if value.name == "spans")
    save_model(model, path)
