"""The second route to a graph: optimum exports the backbone through its own recipe for the architecture, and our
pooling is merged behind it. For architectures that torch's exporter cannot trace, and as a check on it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto, compose, helper
from optimum.exporters.onnx import export
from optimum.exporters.tasks import TasksManager
from transformers import PreTrainedModel

from sciret.errors import BundleError
from sciret.onnx_export.graph import OPSET, PooledEncoder, export_pooling
from sciret.onnx_export.silence import silence

if TYPE_CHECKING:
    from sciret.onnx_export.export import Pool

_HIDDEN = "last_hidden_state"
_MASK = "attention_mask_for_pooling"


def export_by_optimum(network: PreTrainedModel, pool: Pool, path: Path) -> None:
    """Write the same graph as `graph.export_encoder`: `input_ids, attention_mask, spans -> dense, sentences`."""
    with tempfile.TemporaryDirectory() as folder:
        backbone, pooling = Path(folder, "backbone.onnx"), Path(folder, "pooling.onnx")
        _export_backbone(network, backbone)
        export_pooling(pool, network.config.hidden_size, pooling)
        onnx.save(_merge(onnx.load(backbone), onnx.load(pooling)), path)


def _export_backbone(network: PreTrainedModel, path: Path) -> None:
    try:
        with silence():
            recipe = TasksManager.get_exporter_config_constructor(
                "onnx", network, task="feature-extraction", library_name="transformers"
            )
            export(network, recipe(network.config), path, opset=OPSET)
    except (KeyError, ValueError) as error:
        raise BundleError(
            f"optimum has no recipe for the architecture {network.config.model_type!r} ({error}); use --via torch"
        ) from error


def _merge(backbone: onnx.ModelProto, pooling: onnx.ModelProto) -> onnx.ModelProto:
    _without_token_types(backbone.graph)
    # A merge joins outputs to inputs and cannot share an input: the mask leaves the backbone to enter the pooling.
    backbone.graph.node.append(helper.make_node("Identity", ["attention_mask"], [_MASK]))
    backbone.graph.output.append(helper.make_tensor_value_info(_MASK, TensorProto.INT64, None))
    backbone.ir_version = pooling.ir_version = max(backbone.ir_version, pooling.ir_version)
    pooling = compose.add_prefix(pooling, "pooling/", rename_inputs=False, rename_outputs=False)
    pairs = [(_HIDDEN, "hidden"), (_MASK, "mask")]
    merged = compose.merge_models(backbone, pooling, io_map=pairs, outputs=[*PooledEncoder.outputs])
    versions = {one.domain: one.version for one in merged.opset_import}  # it lists the same domain twice
    del merged.opset_import[:]
    merged.opset_import.extend(helper.make_opsetid(*one) for one in versions.items())
    found = {value.name for value in merged.graph.input}
    if found != set(PooledEncoder.inputs):
        raise BundleError(
            f"optimum's graph wants {', '.join(sorted(found))}; an encoder gives {', '.join(PooledEncoder.inputs)}: "
            f"use --via torch"
        )
    return merged


def _without_token_types(graph: onnx.GraphProto) -> None:
    """Segment ids are zeros for us, so that one input fewer has to be fed: make them inside, shaped as the text."""
    for value in graph.input:
        if value.name == "token_type_ids":
            graph.input.remove(value)
            zero = helper.make_tensor("zero", TensorProto.INT64, [1], [0])
            graph.node.insert(0, helper.make_node("ConstantOfShape", ["text_shape"], ["token_type_ids"], value=zero))
            graph.node.insert(0, helper.make_node("Shape", ["input_ids"], ["text_shape"]))
            return
