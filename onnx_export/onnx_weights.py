"""BERT weights out of an ONNX graph, for packages that carry a model only in that form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import torch
from onnx import numpy_helper
from transformers import BertConfig, BertModel

from sciret.errors import BundleError

Arrays = Mapping[str, npt.NDArray[np.float32]]

HEAD_DIMS = (64, 32, 128)
TOLERANCE = 1e-4
_PREFIXES = ("embeddings.", "encoder.")
_WORDS = "embeddings.word_embeddings.weight"
_LAST = "encoder.layer.{}.output.LayerNorm.weight"


def bert_from_onnx(path: Path) -> BertModel:
    """The network that an exported BERT graph came from; its hidden states are those of the graph, or it is refused.

    Exporters keep the names of embeddings, biases and norms. A dense layer's matrix loses its name, but it is the one
    multiplied just before the bias that kept it. The number of attention heads leaves no trace in any weight, so the
    usual sizes of a head are tried until the network computes what the graph does.
    """
    graph = onnx.load(path).graph
    kept = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    if _WORDS not in kept:
        raise BundleError(
            f"{path.name}: no weights under BERT's names in this ONNX file. "
            f"Export from the model's transformers folder or hub name instead."
        )
    # Some exporters keep more under these prefixes, such as the position ids 0 to 511, which are no weights.
    named = {name: kept[name] for name in kept if name.startswith(_PREFIXES) and name.endswith((".weight", ".bias"))}
    weights = {**named, **dict(_dense_layers(graph, kept))}
    for head_dims in HEAD_DIMS:
        network = _network(weights, head_dims, path)
        if network is not None and _difference(network, path) <= TOLERANCE:
            return network
    raise BundleError(
        f"{path.name}: no BERT with these weights and heads of {', '.join(map(str, HEAD_DIMS))} dimensions computes "
        f"what this graph does. Export from the model's transformers folder or hub name instead."
    )


def _dense_layers(graph: onnx.GraphProto, kept: Arrays) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    producers = {output: node for node in graph.node for output in node.output}
    for node in graph.node:
        biases = [name for name in node.input if name in kept and name.endswith(".bias")]
        products = [producers[name] for name in node.input if name in producers]
        if node.op_type == "Add" and biases and products and products[0].op_type == "MatMul":
            matrix = kept.get(products[0].input[1])  # [in, out]; torch keeps [out, in]
            if matrix is not None:
                yield biases[0].removesuffix("bias") + "weight", matrix.T


def _network(weights: Arrays, head_dims: int, path: Path) -> BertModel | None:
    vocabulary, hidden = weights[_WORDS].shape
    if hidden % head_dims:
        return None
    layers = next(n for n in range(1000) if _LAST.format(n) not in weights)
    try:
        config = BertConfig(  # type: ignore[no-untyped-call]
            vocab_size=vocabulary,
            hidden_size=hidden,
            num_hidden_layers=layers,
            num_attention_heads=hidden // head_dims,
            intermediate_size=len(weights["encoder.layer.0.intermediate.dense.bias"]),
            max_position_embeddings=len(weights["embeddings.position_embeddings.weight"]),
            type_vocab_size=len(weights["embeddings.token_type_embeddings.weight"]),
            attn_implementation="eager",
        )
        network = BertModel(config, add_pooling_layer=False)  # type: ignore[no-untyped-call]
        state = {name: torch.from_numpy(np.array(array, dtype=np.float32)) for name, array in weights.items()}
        network.load_state_dict(state, strict=True)
    except (KeyError, RuntimeError) as error:
        raise BundleError(f"{path.name}: its weights are not those of a BERT encoder ({error})") from error
    network.eval()  # type: ignore[no-untyped-call]
    return network


def _difference(network: BertModel, path: Path) -> float:
    """Largest difference of a hidden state between network and graph, over a made-up batch with padding."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    ids = np.random.default_rng(0).integers(network.config.vocab_size, size=(2, 24))  # [B, L]
    mask = np.ones_like(ids)
    mask[1, 16:] = 0
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    hidden = session.run(None, {i.name: feed[i.name] for i in session.get_inputs()})[0]  # [B, L, d]
    with torch.no_grad():
        ours = network(torch.from_numpy(ids), torch.from_numpy(mask)).last_hidden_state.numpy()
    return float(np.abs(ours - hidden)[mask == 1].max())
