from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from sciret.encoders.bundle import Bundle, load_bundle
from sciret.encoders.session import open_session
from sciret.errors import BundleError, MissingExtraError, SettingsError

MakeBundle = Callable[..., str]


def test_cpu_prefers_the_int8_graph(default_bundle: Bundle) -> None:
    """The shipped bundle runs in int8 on the CPU, with the threads asked for."""
    session = open_session(default_bundle, "cpu", threads=1)
    assert (session.device, session.precision, session.threads) == ("cpu", "int8", 1)


def test_cpu_takes_fp32_where_there_is_no_other(make_bundle: MakeBundle) -> None:
    """A bundle without int8 is no error; no number of threads means at least one."""
    session = open_session(load_bundle(make_bundle()), "cpu")
    assert session.precision == "fp32"
    assert session.threads >= 1


def test_cuda_asked_for_and_not_there_is_an_error(make_bundle: MakeBundle, capfd: pytest.CaptureFixture[str]) -> None:
    """`cuda` never falls back; `auto` does, and says nothing about it on the terminal."""
    bundle = load_bundle(make_bundle())
    if open_session(bundle, "auto").device == "cuda":
        pytest.skip("this machine has a GPU")
    assert capfd.readouterr() == ("", "")
    with pytest.raises(SettingsError, match=r"device cuda.*pip install.*--device cpu"):
        open_session(bundle, "cuda")


@pytest.mark.parametrize(("device", "threads", "said"), [("gpu", 0, "auto, cpu, cuda"), ("cpu", -1, "threads -1")])
def test_bad_settings_are_refused(default_bundle: Bundle, device: str, threads: int, said: str) -> None:
    """The message says what can be given."""
    with pytest.raises(SettingsError, match=said):
        open_session(default_bundle, device, threads)


def test_missing_onnxruntime_names_the_extra(default_bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact pip line, not a traceback."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sciret\[cpu\]'"):
        open_session(default_bundle)


@pytest.mark.parametrize("content", [b"", b"not a graph"])
def test_file_that_is_no_graph_is_refused(make_bundle: MakeBundle, content: bytes) -> None:
    """The bundle's hashes fit, yet onnxruntime cannot load it: the message names file and remedy."""
    with pytest.raises(BundleError, match=r"model\.onnx.*export the model again"):
        open_session(load_bundle(make_bundle(graph=content)), "cpu")


def test_graph_without_sentence_vectors_is_refused(make_bundle: MakeBundle) -> None:
    """At opening, not at the first paper."""
    with pytest.raises(BundleError, match=r"gives \['dense'\]"):
        open_session(load_bundle(make_bundle(graph_outputs=("dense",))), "cpu")


def test_bundle_without_a_graph_is_refused(default_bundle: Bundle) -> None:
    """A description that lists none is named."""
    with pytest.raises(BundleError, match="lists no graph"):
        open_session(replace(default_bundle, files={}), "cpu")
