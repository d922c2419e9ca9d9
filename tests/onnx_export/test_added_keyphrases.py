"""Keyphrases added to a bundle weigh what they would weigh had they been trained, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoModelForMaskedLM

from sciret.encoders.bundle import FEATURES, GRAPHS, load_bundle
from sciret.encoders.encoder import Encoder
from sciret.encoders.phrases import load_phrases
from sciret.errors import BundleError, SettingsError
from sciret.onnx_export.added_keyphrases import add_keyphrases
from sciret.onnx_export.export import export_bundle
from sciret.onnx_export.phrase_rows import Phrase
from sciret.paper import Paper
from sciret.training.casper import Shape
from sciret.training.casper_folder import save_casper, start_casper
from sciret.training.sparsity import Pooling

from .decoder_bundle import PHRASES, decoder_bundle

Make = Callable[..., Path]

NEW = "galaxy cluster"
PAPER = Paper("1", "A galaxy cluster", "The laser cooling of a neuron network.")


@pytest.fixture(scope="module", params=[("fp32",), ("int8",), ("fp32", "int8")], ids="+".join)
def without(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("bundles") / "without"
    return decoder_bundle(folder, [phrase for phrase in PHRASES if phrase != NEW], request.param)


def test_an_added_keyphrase_weighs_as_a_trained_one(without: str, tmp_path: Path) -> None:
    """In papers and in queries, within a few percent; the others weigh what they did."""
    trained = Encoder.open(decoder_bundle(tmp_path / "trained", PHRASES, load_bundle(without).precisions))
    added = add_keyphrases(without, [Phrase("Galaxy Cluster")], tmp_path / "added")
    assert added.cosine > 0.9
    expected, found, before = (
        next(iter(encoder.encode_papers([PAPER]))).keyphrases
        for encoder in (trained, Encoder.open(str(tmp_path / "added")), Encoder.open(without))
    )
    assert NEW in expected
    assert found[NEW] == pytest.approx(expected[NEW], rel=0.1)
    assert {name: found[name] for name in before} == pytest.approx(dict(before), rel=1e-4)
    query = Encoder.open(str(tmp_path / "added")).encode_query("masses of galaxy clusters")
    assert query.keyphrases == pytest.approx({NEW: 2.0}, rel=0.02)


def test_the_new_bundle_is_whole_and_the_old_one_untouched(without: str, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in Path(without).iterdir()}
    made = add_keyphrases(without, [Phrase(NEW), Phrase("river hole", "The hole of a river.")], tmp_path / "a")
    assert {path.name: path.read_bytes() for path in Path(without).iterdir()} == before
    assert load_phrases(tmp_path / "a" / "keyphrases.txt")[-2:] == [NEW, "river hole"]
    bundle = load_bundle(str(tmp_path / "a"))
    assert (bundle.fingerprint, bundle.precisions) == (made.bundle.fingerprint, load_bundle(without).precisions)
    assert bundle.fingerprint != load_bundle(without).fingerprint
    (noted,) = bundle.provenance["added_keyphrases"]
    assert noted["to"] == load_bundle(without).fingerprint
    assert noted["phrases"] == [{"phrase": NEW}, {"phrase": "river hole", "description": "The hole of a river."}]
    assert len(np.load(bundle.path(FEATURES))["keyphrase_weights"]) == made.keyphrases


def test_additions_add_up(without: str, tmp_path: Path) -> None:
    """A bundle that was added to can be added to, and remembers both."""
    add_keyphrases(without, [Phrase(NEW)], tmp_path / "one")
    two = add_keyphrases(str(tmp_path / "one"), [Phrase("black hole")], tmp_path / "two")
    assert load_phrases(tmp_path / "two" / "keyphrases.txt")[-2:] == [NEW, "black hole"]
    assert [part["phrases"][0]["phrase"] for part in two.bundle.provenance["added_keyphrases"]] == [NEW, "black hole"]


def test_a_description_changes_how_a_phrase_is_read(tmp_path: Path) -> None:
    """Not in a graph whose states know nothing of their neighbours; but it must not be taken for the phrase."""
    without = decoder_bundle(tmp_path / "without", precisions=["fp32"])
    rows = [
        next(iter(Encoder.open(str(tmp_path / name)).encode_papers([Paper("1", "A black hole")]))).keyphrases
        for name, description in (("plain", ""), ("told", "Black hole of the light, a galaxy."))
        if add_keyphrases(without, [Phrase("black hole", description)], tmp_path / name)
    ]
    assert rows[0]["black hole"] == pytest.approx(rows[1]["black hole"], rel=1e-3)


@pytest.mark.parametrize(
    ("phrases", "message"),
    [
        (["Coral Reefs"], "there already, as 'coral reef'"),
        (["coralreef"], "there already"),
        (["black hole", "Black-holes"], "are one phrase"),
        (["..."], "no phrase"),
        ([""], "no phrase"),
        (["a\x07b"], "no phrase"),
        (["of the"], "no word that the model gives weight to"),
        (["light 𒀀𒀁"], "cannot read"),
        (["light " * 80], "cannot read"),
        ([], "no phrase was given"),
    ],
)
def test_phrases_that_cannot_be_added_are_refused(phrases: list[str], message: str, tmp_path: Path) -> None:
    without = decoder_bundle(tmp_path / "bundle", precisions=["fp32"])
    with pytest.raises(SettingsError, match=message):
        add_keyphrases(without, [Phrase(phrase) for phrase in phrases], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_bundles_that_cannot_be_added_to_are_refused(tmp_path: Path) -> None:
    few = decoder_bundle(tmp_path / "few", PHRASES[:4], ["fp32"])
    with pytest.raises(BundleError, match="has 4 keyphrases; to learn from, it takes 20"):
        add_keyphrases(few, [Phrase("black hole")], tmp_path / "out")
    there = decoder_bundle(tmp_path / "there", precisions=["fp32"])
    with pytest.raises(BundleError, match="--force"):
        add_keyphrases(there, [Phrase("black hole")], tmp_path / "few")
    assert add_keyphrases(there, [Phrase("black hole")], tmp_path / "few", force=True).keyphrases == len(PHRASES) + 1


def test_a_bundle_without_keyphrases_is_refused(tmp_path: Path) -> None:
    from ..encoders.tiny_bundle import tiny_bundle

    with pytest.raises(BundleError, match="gives no keyphrases"):
        add_keyphrases(tiny_bundle(tmp_path / "dense"), [Phrase("black hole")], tmp_path / "out")


def test_int8_takes_no_more_room(tmp_path: Path) -> None:
    """A keyphrase costs no more than its column: a byte a number, and its scale, bias and factor."""
    without = decoder_bundle(tmp_path / "bundle", precisions=["int8"])
    add_keyphrases(without, [Phrase("black hole")], tmp_path / "out")
    sizes = [(folder / GRAPHS["int8"]).stat().st_size for folder in (Path(without), tmp_path / "out")]
    assert sizes[1] - sizes[0] < 100


@pytest.mark.parametrize("pooling", ["sum", "max"])
def test_exported_casper_checkpoints_can_be_added_to(checkpoints: Make, pooling: Pooling, tmp_path: Path) -> None:
    """Both graphs of one that torch has written, whichever way its keyphrases are pooled."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    phrases = [f"{first}{second} {second}{first}" for first, second in pairwise(letters)]
    source = checkpoints("bert", AutoModelForMaskedLM, vocab_size=59)
    shape = Shape(query_length=48, document_length=48, keyphrase_pooling=pooling)
    save_casper(tmp_path / "run" / "model", start_casper(str(source), phrases, shape, bias=0.0))
    export_bundle(str(tmp_path / "run"), tmp_path / "casper")
    add_keyphrases(str(tmp_path / "casper"), [Phrase("za az")], tmp_path / "added")
    before, after = (
        next(iter(Encoder.open(str(tmp_path / name)).encode_papers([Paper("1", "za az", "ab ba. xy")])))
        for name in ("casper", "added")
    )
    assert after.tokens == pytest.approx(dict(before.tokens), rel=1e-4)
    assert load_bundle(str(tmp_path / "added")).precisions == ("fp32", "int8")
    assert load_phrases(tmp_path / "added" / "keyphrases.txt") == [*phrases, "za az"]
