"""The onnxruntime session: which graph, on which device, with how many threads. Nothing is chosen silently."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, get_args

import numpy.typing as npt

from sciret.encoded import Vector
from sciret.encoders.bundle import GRAPHS, Bundle, Precision
from sciret.errors import BundleError, MissingExtraError, SettingsError

Device = Literal["auto", "cpu", "cuda"]
DEVICES: tuple[Device, ...] = get_args(Device)
CUDA = "CUDAExecutionProvider"
CPU = "CPUExecutionProvider"
INPUTS = ("input_ids", "attention_mask")

# On CPUs the fused kernel is much slower than the two that it replaces.
SLOW_FUSIONS = {"cpu": ["SkipLayerNormFusion"], "cuda": []}


@dataclass(frozen=True, slots=True, eq=False)
class Session:
    """A loaded graph. `run` may be called from several threads at once."""

    device: Literal["cpu", "cuda"]
    precision: Precision
    threads: int
    """How many calls of `run` may well go on at once; each uses one core."""
    graph: Any  # onnxruntime.InferenceSession
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def run(self, inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, Vector]:
        """All that the graph gives: document vectors [B, d] and sentence vectors [B, S, d], L2-normalised; weights of
        wordpieces [B, V] and of keyphrases [B, K]. Inputs that it does not read are left out."""
        found = self.graph.run(self.outputs, {name: inputs[name] for name in self.inputs})
        return dict(zip(self.outputs, found, strict=True))

    @property
    def widths(self) -> dict[str, int]:
        """How many numbers a row of each output has, where the graph tells."""
        shapes = {output.name: output.shape for output in self.graph.get_outputs()}
        return {name: shape[-1] for name, shape in shapes.items() if shape and isinstance(shape[-1], int)}


def open_session(bundle: Bundle, device: str = "auto", threads: int = 0) -> Session:
    """`auto` takes CUDA where the bundle has a graph for it and a session really gets it, and the CPU otherwise."""
    if device not in DEVICES:
        raise SettingsError(f"device {device!r}: there are {', '.join(DEVICES)}")
    if threads < 0:
        raise SettingsError(f"threads {threads}: give a number of CPU threads, or 0 for one per core")
    runtime = _onnxruntime()
    if device == "cuda":
        return _cuda(runtime, bundle, threads)
    # An int8 graph is made for CPUs: most of it would run there anyway, with a copy to and fro for each layer.
    if device == "auto" and "fp32" in bundle.precisions and CUDA in runtime.get_available_providers():
        with suppress(SettingsError), _quiet(runtime):
            return _cuda(runtime, bundle, threads)
    return _load(runtime, bundle, "cpu", _choose(bundle, "int8", "fp32"), threads)


def _cuda(runtime: ModuleType, bundle: Bundle, threads: int) -> Session:
    """The GPU build of onnxruntime lists CUDA also where there is none, so the session itself is asked for it."""
    if CUDA not in runtime.get_available_providers():
        raise SettingsError(
            "device cuda: the installed onnxruntime is the CPU build. Run pip uninstall onnxruntime and then "
            "pip install 'sciret[gpu]', or use --device cpu"
        )
    if hasattr(runtime, "preload_dlls"):  # finds the CUDA libraries that pip installed; it prints what it misses
        with redirect_stdout(io.StringIO()):
            runtime.preload_dlls()
    failures = runtime.capi.onnxruntime_pybind11_state
    try:
        session = _load(runtime, bundle, "cuda", _choose(bundle, "fp32", "int8"), threads)
        reason = None if CUDA in session.graph.get_providers() else "it fell back to the CPU"
    except (failures.RuntimeException, failures.EPFail, RuntimeError, ValueError) as error:
        reason = str(error)
    if reason:
        raise SettingsError(
            f"device cuda: onnxruntime {runtime.__version__} found no usable GPU ({reason}). It needs an NVIDIA "
            "driver, CUDA and cuDNN libraries (pip install 'onnxruntime-gpu[cuda,cudnn]'), or --device cpu"
        )
    return session


def _load(
    runtime: ModuleType, bundle: Bundle, device: Literal["cpu", "cuda"], precision: Precision, threads: int
) -> Session:
    threads = threads or _cores()
    path = bundle.path(GRAPHS[precision])
    providers = [CUDA, CPU] if device == "cuda" else [CPU]
    failures = runtime.capi.onnxruntime_pybind11_state
    damaged = (failures.Fail, failures.InvalidArgument, failures.InvalidGraph, failures.InvalidProtobuf)
    try:
        graph = runtime.InferenceSession(
            path, _options(runtime), providers, disabled_optimizers=SLOW_FUSIONS[device], enable_fallback=0
        )
    except (*damaged, failures.NotImplemented) as error:
        raise BundleError(
            f"{path}: onnxruntime {runtime.__version__} cannot load this graph ({error}); "
            f"upgrade onnxruntime, or export the model again"
        ) from error
    inputs = _check(graph, path.name, bundle)
    return Session(device, precision, threads, graph, inputs, bundle.outputs)


def _options(runtime: ModuleType) -> Any:
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # errors only: which node runs where is no news to users
    # Encoder runs a text a thread: onnxruntime's own threads would take the cores from each other, and a query is too
    # short to gain from them.
    options.intra_op_num_threads = 1
    return options


def _check(graph: Any, name: str, bundle: Bundle) -> tuple[str, ...]:
    """Inputs of the graph: spans are read for vectors, content for sparse ones."""
    wanted = (*INPUTS, *(["spans"] if bundle.has_vectors else []), *(["content"] if bundle.sparse else []))
    inputs, outputs = {i.name for i in graph.get_inputs()}, {o.name for o in graph.get_outputs()}
    if inputs != set(wanted) or not outputs.issuperset(bundle.outputs):
        raise BundleError(
            f"{bundle.folder}: {name} reads {sorted(inputs)} and gives {sorted(outputs)}, but the encoder needs "
            f"{sorted(wanted)} and {sorted(bundle.outputs)}; export the model with `sciret export`"
        )
    return wanted


def _choose(bundle: Bundle, *preferred: Precision) -> Precision:
    for precision in preferred:
        if precision in bundle.precisions:
            return precision
    raise BundleError(f"{bundle.folder}: bundle.json lists no graph ({', '.join(GRAPHS.values())}); export it again")


def _onnxruntime() -> ModuleType:
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise MissingExtraError("encoding", "cpu") from error
    return onnxruntime  # type: ignore[no-any-return]  # untyped


@contextmanager
def _quiet(runtime: ModuleType) -> Iterator[None]:
    """Trying is not failing: `auto` on a machine without a GPU is no error, so onnxruntime must not print one."""
    runtime.set_default_logger_severity(4)
    try:
        yield
    finally:
        runtime.set_default_logger_severity(2)  # its default: warnings


def _cores() -> int:
    """Those this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
