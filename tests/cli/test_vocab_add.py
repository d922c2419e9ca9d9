"""`sciret vocab add`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sciret.encoders.bundle import load_bundle
from sciret.encoders.phrases import load_phrases

from ..onnx_export.decoder_bundle import PHRASES, decoder_bundle

Sciret = Callable[..., Result]


@pytest.fixture
def bundle(tmp_path: Path) -> str:
    return decoder_bundle(tmp_path / "bundle", precisions=["int8"])


def test_adds_phrases_of_the_command_line_and_of_a_file(sciret: Sciret, bundle: str, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("light river\tA river of light.\n\nblack market\n", encoding="utf-8")
    out = tmp_path / "out"
    result = sciret("vocab", "add", "Black Hole", "--file", "more.txt", "--model", bundle, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["added"] == ["black hole", "light river", "black market"]
    assert record["keyphrases"] == len(PHRASES) + 3
    assert record["guessed"] > 0.9
    assert record["fingerprint"] == load_bundle(str(out)).fingerprint
    assert load_phrases(out / "keyphrases.txt") == [*PHRASES, *record["added"]]
    (noted,) = load_bundle(str(out)).provenance["added_keyphrases"]
    assert noted["phrases"][1]["description"] == "A river of light."


def test_says_what_was_added(sciret: Sciret, bundle: str) -> None:
    result = sciret("vocab", "add", "black hole", "--description", "A hole.", "--model", bundle, "--out", "out")
    assert result.exit_code == 0, result.output
    assert "added        black hole\n" in result.stdout
    assert f"keyphrases   {len(PHRASES) + 1}\n" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give a PHRASE"),
        (["a b", "c d", "--description", "text"], "--description is of one PHRASE"),
        (["--file", "missing.txt"], "missing.txt: cannot be read"),
        (["Coral Reefs"], "'Coral Reefs' is there already, as 'coral reef'"),
    ],
)
def test_refuses_what_cannot_be(sciret: Sciret, bundle: str, arguments: list[str], message: str) -> None:
    result = sciret("vocab", "add", *arguments, "--model", bundle, "--out", "out")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not Path("out").exists()
