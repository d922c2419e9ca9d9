"""A graph that does not compute what the network does is not written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from sciret.encoded import Vector
from sciret.encoders.bundle import SHIPPED, TOKENIZER, Bundle
from sciret.errors import BundleError
from sciret.onnx_export import export, graph, parity


def vectors(noise: float) -> dict[str, Vector]:
    """The same unit vectors each time, moved by so much noise."""
    chance = np.random.default_rng(0)
    moved = {}
    for name, count in (("dense", 5), ("sentences", 20)):
        exact = chance.normal(size=(count, 16))
        exact /= np.linalg.norm(exact, axis=1, keepdims=True)
        moved[name] = (exact + noise * chance.normal(size=exact.shape)).astype(np.float32)
    return moved


def weights(noise: float, scale: float = 1.0) -> dict[str, Vector]:
    """Sparse vectors, of which the last one is empty."""
    chance = np.random.default_rng(0)
    exact = scale * chance.exponential(size=(12, 40)) * (chance.random((12, 40)) < 0.3)
    exact[-1] = 0
    return {"tokens": np.where(exact > 0, exact + noise * chance.normal(size=exact.shape), 0).astype(np.float32)}


def test_a_faithful_graph_is_accepted_with_its_figures() -> None:
    figures = parity.compare_fp32(vectors(0), vectors(1e-6))
    assert 0 < figures["dense"]["max_abs_difference"] < 1e-5


@pytest.mark.parametrize("noise", [1e-3, float("nan")])
def test_a_graph_that_differs_is_refused(noise: float) -> None:
    """NaN compares false with any limit, and must be refused as well."""
    with pytest.raises(BundleError, match="parity is broken"):
        parity.compare_fp32(vectors(0), vectors(noise))


def test_a_ruined_int8_graph_is_refused() -> None:
    with pytest.raises(BundleError, match="--precision fp32"):
        parity.compare_int8(vectors(0), vectors(0.2))


def test_weights_are_compared_beside_the_largest_of_them() -> None:
    """A sum over many positions has more digits before the point, and as many after it as a float has left."""
    assert parity.compare_fp32(weights(0, 100), weights(1e-3, 100))["tokens"]["max_abs_difference"] > 1e-4
    for noise in (1e-3, float("nan")):
        with pytest.raises(BundleError, match="parity is broken"):
            parity.compare_fp32(weights(0), weights(noise))


def test_ruined_weights_are_refused() -> None:
    """Two empty vectors agree; where one is empty and the other is not, they do not."""
    assert parity.compare_int8(weights(0), weights(1e-3))["tokens"]["min_cosine"] > 0.99
    with pytest.raises(BundleError, match="tokens of the int8 graph"):
        parity.compare_int8(weights(0), weights(1.0))
    with pytest.raises(BundleError, match=r"cosine of 0\.0833"):
        parity.compare_int8(weights(0), {"tokens": np.zeros((12, 40), np.float32)})


def test_texts_cover_what_breaks_graphs() -> None:
    """Real wordpieces of the shipped tokenizer: a one-word text, a batch with padding, one longer than is read."""
    feeds = list(parity.batches(Tokenizer.from_file(str(SHIPPED / "default" / TOKENIZER)), 512))
    lengths = np.concatenate([feed["attention_mask"].sum(axis=1) for feed in feeds])
    assert lengths.min() == 4
    assert lengths.max() == 512
    assert any((feed["attention_mask"] == 0).any() for feed in feeds)
    assert len(lengths) >= 24
    for feed in feeds:
        starts, ends = feed["spans"][:, :, 0], feed["spans"][:, :, 1]
        assert ((starts < ends) | (ends == 0)).all()
        assert (starts[:, 1:] >= ends[:, :-1])[ends[:, 1:] > 0].all(), "sentences follow each other"


def test_nothing_is_left_behind_when_parity_is_broken(
    checkpoints: Callable[..., Path], bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exporter that writes some other network's graph is caught by running it: no folder, no remains."""

    def wrong(encoder: graph.BundleEncoder, path: Path) -> None:
        shutil.copy(bundle.path("model.onnx"), path)

    monkeypatch.setattr(graph, "export_encoder", wrong)
    source = checkpoints("bert", num_hidden_layers=2)
    with pytest.raises(BundleError, match="parity is broken"):
        export.export_bundle(str(source), tmp_path / "bundle")
    assert not list(tmp_path.iterdir())
