"""Configurations come from a file and from options, are checked, and come back as they were."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest

from sciret.errors import SettingsError
from sciret.training.configuration import AnchoredTraining, CasperTraining, MaskedTraining
from sciret.training.optimisation import share_of_rate

TOML = """
model = "distilbert-base-uncased"
triplets = "triplets.jsonl"
papers = ["a.jsonl", "b.jsonl"]
steps = 500
rate = 1e-5
beta = 1

[weights]
titles = 0.5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "casper.toml"
    path.write_text(TOML, encoding="utf-8")
    return path


def test_options_win_over_the_file_and_settings_over_both(file: Path) -> None:
    options = {"steps": 600, "seed": 7, "keyphrases": None, "papers": ()}
    settings = ["steps=700", "contrast=unified", "weights.contexts=0", "keyphrase_pooling=max"]
    found = CasperTraining.load(file, options, settings)
    assert (found.steps, found.seed, found.rate, found.keyphrases) == (700, 7, 1e-5, "")
    assert found.papers == ("a.jsonl", "b.jsonl")
    assert (found.contrast, found.shape.keyphrase_pooling, found.shape.beta) == ("unified", "max", 1.0)
    assert found.weights == {"titles": 0.5, "contexts": 0.0}


def test_a_configuration_survives_a_trip_through_json(file: Path) -> None:
    """Whatever part of the run a field belongs to, it is one level deep."""
    found = CasperTraining.load(file, {})
    assert CasperTraining.from_dict(json.loads(json.dumps(asdict(found)))) == found
    head = AnchoredTraining.load(None, {"model": "m", "papers": ["p"], "triplets": "t", "keyphrases": "k"}, ["beta=2"])
    assert AnchoredTraining.from_dict(json.loads(json.dumps(asdict(head)))) == head
    assert head.beta == 2.0


def test_a_head_is_trained_in_fp32_also_on_a_gpu() -> None:
    given = {"model": "m", "papers": ["p"], "triplets": "t", "keyphrases": "k"}
    assert AnchoredTraining.from_dict(given).precision == "fp32"
    with pytest.raises(SettingsError, match="trained in fp32"):
        AnchoredTraining.from_dict({**given, "precision": "bf16"})


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (["step=1"], "there is no step"),
        (["steps"], "NAME=VALUE"),
        (["steps=many"], "steps must be of type int, not 'many'"),
        (["steps=0"], "steps is 0"),
        (["steps=true"], "must be of type int"),
        (["rate=-1"], "above 0"),
        (["precision=fp8"], "fp8"),
        (["contrast=other"], "decoupled, unified"),
        (["token_pooling=mean"], "max, sum"),
        (["distillation=kl", "negatives=0"], "negatives=1"),
        (["weights=1"], "weights must be of type"),
        (["temperature=0"], "temperature"),
        (["query_flops=-0.1"], "not negative"),
    ],
)
def test_what_cannot_be_is_refused(file: Path, settings: list[str], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        _ = CasperTraining.load(file, {}, settings).shape


@pytest.mark.parametrize(
    ("given", "reason"),
    [({}, "model, papers"), ({"model": "m", "papers": ["p"], "words_masked": 1.5}, "between 0 and 1")],
)
def test_what_is_missing_is_named(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        MaskedTraining.from_dict(given)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("steps = ", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"broken\.toml"):
        CasperTraining.load(tmp_path / "broken.toml", {})
    with pytest.raises(SettingsError, match=r"none\.toml: cannot be read"):
        CasperTraining.load(tmp_path / "none.toml", {})


def test_the_rate_rises_and_falls() -> None:
    """Never 0 at the first step, whole after warmup, 0 at the end."""
    shares = [share_of_rate(step, 3, 7) for step in range(8)]
    assert shares == [0.25, 0.5, 0.75, 1.0, 0.75, 0.5, 0.25, 0.0]
    assert share_of_rate(0, 0, 10) == 1.0


@pytest.mark.parametrize("kind", [CasperTraining, MaskedTraining])
def test_every_field_stands_in_the_documentation(kind: type[CasperTraining] | type[MaskedTraining]) -> None:
    """With its default, where it has one of its own."""
    text = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    for field in fields(kind):
        assert f"| `{field.name}` |" in text, field.name
        if isinstance(field.default, int | float | str) and field.default != "":
            row = text.partition(f"| `{field.name}` |")[2].partition("\n")[0]
            shown = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
            assert f"`{shown}`" in row, (field.name, shown)
