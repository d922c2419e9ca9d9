"""Several bundles, and the one that a store asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sciret.encoders.bundle import Sparse, load_bundle
from sciret.encoders.choice import EncoderChoice
from sciret.errors import BundleError, SettingsError, WrongModelError

from .sparse_bundle import sparse_bundle
from .tiny_bundle import tiny_bundle


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("bundles")
    return [tiny_bundle(folder / f"bundle-{seed}", seed=seed) for seed in (1, 2)]


def test_the_fingerprint_picks_the_bundle(bundles: list[str]) -> None:
    choice = EncoderChoice(bundles, device="cpu")
    for name in reversed(bundles):
        wanted = load_bundle(name).fingerprint
        assert choice.for_model(wanted).model == wanted
        assert choice.for_model(wanted) is choice.for_model(wanted)


def test_a_store_without_a_model_takes_the_first(bundles: list[str]) -> None:
    assert EncoderChoice(bundles, device="cpu").for_model(None).model == load_bundle(bundles[0]).fingerprint


def test_a_model_that_is_not_at_hand_is_refused_with_both_fingerprints(bundles: list[str]) -> None:
    with pytest.raises(WrongModelError) as refused:
        EncoderChoice(bundles, device="cpu").for_model("f" * 64)
    assert (refused.value.stored, refused.value.given) == ("f" * 64, load_bundle(bundles[0]).fingerprint)


def test_bundles_are_read_only_as_far_as_needed(bundles: list[str], tmp_path: Path) -> None:
    """Unless asked to: an ingest wants to know a wrong name at once."""
    choice = EncoderChoice([bundles[0], str(tmp_path / "nowhere")], device="cpu")
    assert choice.for_model(load_bundle(bundles[0]).fingerprint)
    for _ in range(2):
        with pytest.raises(BundleError, match="nowhere"):
            choice.read()


def test_beta_is_the_bundles_without_loading_the_model(bundles: list[str], tmp_path: Path) -> None:
    """A search by a paper needs no more of the model than that."""
    learned = sparse_bundle(tmp_path, sparse=Sparse(beta=0.75))
    fingerprint = load_bundle(learned).fingerprint
    choice = EncoderChoice([bundles[0], learned], device="nowhere")
    assert choice.beta(fingerprint) == 0.75
    assert choice.beta(load_bundle(bundles[0]).fingerprint) == 0.25
    with pytest.raises(WrongModelError):
        choice.beta("f" * 64)


def test_no_name_is_an_error() -> None:
    with pytest.raises(SettingsError, match="--model"):
        EncoderChoice([" ", ""])
