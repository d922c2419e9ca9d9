"""The keyphrases of a bundle's graph as columns: what belongs to each is read, left out or added, nothing else changes.

A keyphrase is a column of the decoder's matrix and a number in each vector that stands behind the product: a bias, a
factor. They are found by following the output `keyphrases` back to the matrix, so names and the kind of head do not
matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from onnx import GraphProto, ModelProto, NodeProto, numpy_helper

from sciret.encoded import Vector
from sciret.errors import BundleError

PRODUCTS = ("MatMul", "MatMulInteger")
UNARY = ("Cast", "Relu", "Log", "Exp", "Sqrt", "Softplus")
ELEMENTWISE = (*UNARY, "Add", "Sub", "Mul", "Div", "Max", "Min", "Where", "Pow")
ALONG_OTHER_AXES = ("ReduceSum", "ReduceMax", "Squeeze", "Unsqueeze", "Gather", "Slice", "Clip", "Identity")
"""Of these the first input is what matters; the others say which axes and bounds."""
QUANTIZED, SCALE, ZERO_POINT = "_quantized", "_scale", "_zero_point"
"""Endings by which onnxruntime names what it makes of a matrix, one scale a column."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Numbers of some keyphrases, as float32 whatever the graph has."""

    rows: Vector  # [n, d] of the decoder
    vectors: Mapping[str, Vector]  # [n] each, by name in the graph

    def take(self, numbers: npt.NDArray[np.intp]) -> Columns:
        return Columns(self.rows[numbers], {name: vector[numbers] for name, vector in self.vectors.items()})


@dataclass(slots=True)
class Decoder:
    """Where the numbers of an output's features are in a graph."""

    matrix: str = ""
    transposed: bool = False
    """The matrix is kept as [N, d] and not as [d, N]."""
    states: str = ""
    """Name of what the matrix is multiplied with, [B, P, d] or [P, B, d]."""
    vectors: list[str] = field(default_factory=list)

    @property
    def scale(self) -> str | None:
        return self.matrix.removesuffix(QUANTIZED) + SCALE if self.matrix.endswith(QUANTIZED) else None

    @property
    def zero_point(self) -> str:
        return self.matrix.removesuffix(QUANTIZED) + ZERO_POINT


def find_decoder(model: ModelProto, output: str, width: int) -> Decoder:
    """From the output of that many features back to the matrix that gives them."""
    found = _Search(model.graph, width).decoder(output)
    if not found.matrix or width < 2:  # with one feature, what broadcasts cannot be told from what does not
        raise BundleError(
            f"the graph has no matrix of {width} {output} that could be told from the rest; export the model again"
        )
    return found


class _Search:
    def __init__(self, graph: GraphProto, width: int) -> None:
        self._shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
        self._producers = {name: node for node in graph.node for name in node.output}
        self._width = width
        self._seen: set[str] = set()
        self._found = Decoder()

    def decoder(self, output: str) -> Decoder:
        self._follow(output)
        return self._found

    def _follow(self, name: str) -> None:
        if name in self._seen:
            return
        self._seen.add(name)
        if name in self._shapes:
            if self._shapes[name][-1:] == (self._width,):
                self._note_vector(name)
            return
        node = self._producers.get(name)
        if node is None:
            return
        if node.op_type in PRODUCTS:
            self._product(node)
        elif node.op_type in ELEMENTWISE or node.op_type in ALONG_OTHER_AXES:
            for each in node.input if node.op_type in ELEMENTWISE else node.input[:1]:
                self._follow(each)

    def _product(self, node: NodeProto) -> None:
        right, transposed = node.input[1], False
        above = self._producers.get(right)
        if above is not None and above.op_type == "Transpose" and above.input[0] in self._shapes:
            right, transposed = above.input[0], True
        if right not in self._shapes:
            self._follow(right)  # a product that pools: positions [B, 1, P] times weights [B, P, N]
            return
        shape = self._shapes[right]
        if len(shape) == 2 and shape[0 if transposed else 1] == self._width and not self._found.matrix:
            self._found.matrix, self._found.transposed = right, transposed
            self._found.states = self._before_quantization(node.input[0])

    def _before_quantization(self, name: str) -> str:
        node = self._producers.get(name)
        return node.input[0] if node is not None and node.op_type == "DynamicQuantizeLinear" else name

    def _note_vector(self, name: str) -> None:
        if len(self._shapes[name]) != 1:
            raise BundleError(f"{name} has {self._shapes[name]} numbers behind the decoder; expected one a feature")
        self._found.vectors.append(name)


def read_columns(model: ModelProto, decoder: Decoder) -> Columns:
    """All of them, quantized ones as what they stand for."""
    arrays = _arrays(model, (decoder.matrix, *decoder.vectors))
    matrix = arrays[decoder.matrix].astype(np.float32)
    if decoder.scale is not None:
        matrix = matrix * arrays[decoder.scale].astype(np.float32)
    vectors = {name: arrays[name].astype(np.float32) for name in _own(decoder)}
    return Columns(np.ascontiguousarray(matrix if decoder.transposed else matrix.T), vectors)


def replace_columns(
    model: ModelProto, decoder: Decoder, output: str, kept: npt.NDArray[np.intp], added: Columns
) -> None:
    """The kept columns in their order and then the added ones, in the graph itself. Kept ones stay bit by bit."""
    arrays = _arrays(model, (decoder.matrix, *decoder.vectors))
    matrix = arrays[decoder.matrix]
    axis = 0 if decoder.transposed else 1
    new = added.rows if decoder.transposed else added.rows.T
    more: dict[str, npt.NDArray[np.generic]] = {name: added.vectors[name] for name in _own(decoder)}
    if decoder.scale is not None:
        # As fine as the others: as far from 0 as any of them goes, which is 64 where 7 bits are used.
        steps = int(np.abs(matrix.astype(np.int32)).max())
        scales = np.maximum(np.abs(added.rows).max(axis=1), np.finfo(np.float32).tiny) / steps  # [n]
        new = np.rint(new / scales).clip(-steps, steps)
        more[decoder.scale] = scales
        more[decoder.zero_point] = np.zeros(len(scales))
    _put(model, decoder.matrix, np.concatenate([matrix.take(kept, axis), new.astype(matrix.dtype)], axis))
    for name in {*decoder.vectors, *more}:
        old = _arrays(model, (name,))[name]
        _put(model, name, np.concatenate([old[kept], more[name].astype(old.dtype)]))
    _resize(model.graph, output, len(kept) + len(added.rows))


def _own(decoder: Decoder) -> Iterator[str]:
    """Vectors that the model has, and not quantization."""
    for name in decoder.vectors:
        if name not in (decoder.scale, decoder.zero_point):
            yield name


def _arrays(model: ModelProto, names: tuple[str, ...]) -> dict[str, npt.NDArray[np.generic]]:
    found = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer if t.name in names}
    return {name: found[name] for name in names}


def _put(model: ModelProto, name: str, array: npt.NDArray[np.generic]) -> None:
    for tensor in model.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), name))


def _resize(graph: GraphProto, output: str, width: int) -> None:
    """The output says how wide it is; what was noted of shapes in between would contradict, and is not needed."""
    for value in graph.output:
        if value.name == output:
            value.type.tensor_type.shape.dim[-1].dim_value = width
    del graph.value_info[:]
