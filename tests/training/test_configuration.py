"""Configurations come from a file and from options, are checked, and come back as they were."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest

from sciret.errors import SettingsError
from sciret.training.anchored_step import WEIGHTS
from sciret.training.configuration import AnchoredTraining, CasperTraining, MaskedTraining, Training
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
    ("setting", "reason"),
    [
        *((f"{name}=-0.1", f"{name} is -0.1; it is not negative") for name in ("beta", *WEIGHTS)),
        ("beta=nan", "not negative"),
        ("lambda_=1.1", "in 0..1"),
        ("mass=0", "mass 0.0; they lie above 0"),
        ("average=1.5", "at most at 1"),
        ("too_close=2", "cosine"),
        ("query_features=0", "at least 1"),
        ("chance_columns=1", "at least 2"),
        ("expansion_columns=0", "at least 1"),
        ("hidden=0", "at least 1"),
        ("pool=0", "at least 1"),
        ("hardest=0", "at least 1"),
        ("negatives=-1", "at least 0"),
        ("flops_steps=-1", "at least 0"),
        ("chunk=8", "there is no chunk"),
        ("recompute=true", "there is no recompute"),
        ("keyphrase_bias=0", "there is no keyphrase_bias"),
    ],
)
def test_what_cannot_be_of_a_head_is_refused(setting: str, reason: str) -> None:
    """Also what only the training of a whole network can do."""
    with pytest.raises(SettingsError, match=reason):
        AnchoredTraining.load(None, {"model": "m", "papers": ["p"], "triplets": "t", "keyphrases": "k"}, [setting])


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
        (["chunk=-1"], "chunk is -1"),
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


@pytest.mark.parametrize(
    ("kind", "tables"),
    [
        (CasperTraining, ["all", "a network", "casper"]),
        (MaskedTraining, ["all", "a network", "mlm"]),
        (AnchoredTraining, ["all", "anchored"]),
    ],
)
def test_every_field_stands_in_the_documentation(kind: type[Training], tables: list[str]) -> None:
    """With its default, where it has one; a table of its own wins over that of all, and names no field that is not."""
    documented = field_tables()
    rows = {name: row for table in tables for name, row in documented[table].items()}
    assert rows.keys() == {field.name for field in fields(kind)}
    for field in fields(kind):
        if isinstance(field.default, int | float | str) and field.default != "":
            shown = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
            assert f"`{shown}`" in rows[field.name], (field.name, shown)


def field_tables() -> dict[str, dict[str, str]]:
    """Table to field to its row, of docs/training.md."""
    text = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = {}
    for part in text.partition("### Fields")[2].partition("\n### ")[0].split("\nOf ")[1:]:
        heading = part.partition("\n")[0]
        name = next(name for name in TABLES if TABLES[name] in heading)
        rows = (line for line in part.splitlines() if line.startswith("| `"))
        found[name] = {row.split("`")[1]: row for row in rows}
    return found


TABLES = {
    "all": "every training",
    "a network": "`sciret train casper` and `sciret train mlm`",
    "casper": "`sciret train casper`:",
    "mlm": "`sciret train mlm`:",
    "anchored": "`sciret train anchored`",
}
"""Name to what stands above it; the first that fits."""
