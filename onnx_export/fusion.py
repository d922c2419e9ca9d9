"""Attention and GELU as one operator each, for graphs that only onnxruntime runs: the same numbers, sooner."""

from __future__ import annotations

import onnx
import onnx_ir
from onnx_ir.passes import common
from onnxscript.optimizer import optimize
from onnxscript.rewriter.ort_fusions.erfgelu import fuse_erfgelu
from onnxscript.rewriter.ort_fusions.mha import fuse_mha1, fuse_mha2
from onnxscript.rewriter.ort_fusions.sdpa import fuse_sdpa

NONE = {"attention": 0, "gelu": 0}
DOMAINS = {"", "com.microsoft"}


def fuse(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, int]]:
    """A new graph, and how many of each kind were fused; the graph as it was where nothing is found.

    Not every architecture is written as the patterns have it, and what is not found stays as it is.
    """
    fused = onnx_ir.from_proto(model)
    try:
        common.ShapeInferencePass()(fused)
        optimize(fused)
        gelus = fuse_erfgelu(fused)
        fuse_sdpa(fused, apply_shape_inference=True)
        attentions = fuse_mha1(fused) + fuse_mha2(fused)
        optimize(fused)  # writes out again what fuse_sdpa found and no attention was made of
        common.CommonSubexpressionEliminationPass()(fused)  # each layer has expanded the mask for itself
    except Exception:  # whatever onnxscript stumbles over, the graph is right as it was
        return model, NONE
    if not (gelus or attentions) or not {node.domain for node in fused.graph.all_nodes()} <= DOMAINS:
        return model, NONE
    return onnx_ir.to_proto(fused), {"attention": attentions, "gelu": gelus}
