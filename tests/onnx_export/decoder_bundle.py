"""Bundles with a decoder of keyphrases: small, but made of the parts that an exported one is made of.

A state is the vector of its wordpiece, turned; a keyphrase's trained row is the mean of its wordpieces' rows, so what
a keyphrase should weigh is known without training.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save_model
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from sciret.encoders.bundle import (
    FEATURES,
    KEYPHRASES,
    TOKENIZER,
    Bundle,
    Sparse,
    fingerprint,
    sha256,
    write_description,
)
from sciret.onnx_export.quantize import quantize

DIMS = 24
BIAS = -3.0
LENGTH = 8.0
"""Of a state: the logit of its own wordpiece."""
FIRST = ("coral", "desert", "enzyme", "neuron", "galaxy", "protein", "graph", "laser", "market", "river")
SECOND = ("reef", "dune", "kinetics", "network", "cluster", "folding", "theory", "cooling", "price", "delta")
OTHERS = ("black", "hole", "light", "the", "of", "a", ".", "s")
VOCABULARY = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *FIRST, *SECOND, *OTHERS, "##s")
STOP = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "of", "a", ".")
PHRASES = tuple(f"{first} {second}" for first in FIRST for second in SECOND)
NODES: Sequence[tuple[str, list[str], list[str], dict[str, Any]]] = [
    ("Identity", ["attention_mask"], ["unused"], {}),
    ("Clip", ["content", "zero"], ["places"], {}),  # [B, P]
    ("GatherElements", ["input_ids", "places"], ["pieces"], {"axis": 1}),
    ("Gather", ["table", "pieces"], ["read"], {}),  # [B, P, d]
    ("MatMul", ["read", "turn"], ["states"], {}),
    ("GreaterOrEqual", ["content", "zero"], ["real"], {}),
    ("Cast", ["real"], ["there"], {"to": TensorProto.FLOAT}),  # [B, P]
    ("Unsqueeze", ["there", "last"], ["mask"], {}),  # [B, P, 1]
    ("MatMul", ["states", "words"], ["word_logits"], {}),
    ("Mul", ["word_logits", "mask"], ["word_there"], {}),
    ("ReduceMax", ["word_there", "middle"], ["highest"], {"keepdims": 0}),  # [B, V]
    ("Relu", ["highest"], ["tokens"], {}),
    ("MatMul", ["states", "rows"], ["logits"], {}),  # [B, P, K]
    ("Add", ["logits", "bias"], ["shifted"], {}),
    ("Relu", ["shifted"], ["positive"], {}),
    ("Add", ["positive", "one"], ["more"], {}),
    ("Log", ["more"], ["weights"], {}),
    ("Unsqueeze", ["there", "middle"], ["pool"], {}),  # [B, 1, P]
    ("MatMul", ["pool", "weights"], ["sums"], {}),  # [B, 1, K]
    ("Squeeze", ["sums", "middle"], ["pooled"], {}),
    ("Mul", ["pooled", "factor"], ["keyphrases"], {}),
]


def decoder_bundle(folder: Path, phrases: Sequence[str] = PHRASES, precisions: Sequence[str] = ("fp32", "int8")) -> str:
    """Written into the folder; the name to open it by."""
    folder.mkdir(parents=True, exist_ok=True)
    _TOKENIZER.save(str(folder / TOKENIZER))
    fp32, int8 = folder / "model.onnx", folder / "model.int8.onnx"
    _save(fp32, phrases)
    if "int8" in precisions:
        quantize(fp32, int8)
    if "fp32" not in precisions:
        fp32.unlink()
    (folder / KEYPHRASES).write_text("".join(f"{phrase}\n" for phrase in phrases), encoding="utf-8")
    tokens = np.array([piece not in STOP for piece in VOCABULARY], np.float32)
    np.savez(folder / FEATURES, token_weights=tokens, keyphrase_weights=np.full(len(phrases), 2, np.float32))
    files = {path.name: sha256(path) for path in folder.iterdir()}
    write_description(
        Bundle(
            folder,
            "decoder",
            ("tokens", "keyphrases"),
            0,
            64,
            files,
            fingerprint(files),
            sparse=Sparse(mass=1.0, query_tokens="weighted", query_keyphrases="weighted"),
        )
    )
    return str(folder)


def _save(path: Path, phrases: Sequence[str]) -> None:
    chance = np.random.default_rng(7)
    table = chance.standard_normal((len(VOCABULARY), DIMS)).astype(np.float32)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    turn = np.linalg.qr(chance.standard_normal((DIMS, DIMS)))[0].astype(np.float32)
    words = table @ turn  # [V, d]
    rows = np.stack([words[_pieces(phrase)].mean(axis=0) for phrase in phrases])  # [K, d]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    constants: dict[str, Any] = {
        "zero": 0,
        "one": np.float32(1),
        "last": [-1],
        "middle": [1],
        "table": table,
        "turn": LENGTH * turn,
        "words": np.ascontiguousarray(words.T),
        "rows": np.ascontiguousarray(rows.T),
        "bias": np.full(len(phrases), BIAS, np.float32),
        "factor": np.full(len(phrases), 0.5, np.float32),
    }
    inputs: dict[str, list[str | int | None]] = {name: ["B", "L"] for name in ("input_ids", "attention_mask")}
    inputs["content"] = ["B", "P"]
    outputs: dict[str, list[str | int | None]] = {"tokens": ["B", len(VOCABULARY)], "keyphrases": ["B", len(phrases)]}
    graph = helper.make_graph(
        [helper.make_node(op, given, made, **attributes) for op, given, made, attributes in NODES],
        "decoder",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def _pieces(text: str) -> list[int]:
    return list(_TOKENIZER.encode(text, add_special_tokens=False).ids)


def _tokenizer() -> Tokenizer:
    vocabulary = {piece: number for number, piece in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token=STOP[1]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    return tokenizer


_TOKENIZER = _tokenizer()
