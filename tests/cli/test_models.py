"""`sciret models` and `sciret export`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import click
from click.testing import Result

from sciret.cli.export import command as export_command
from sciret.encoders.bundle import load_bundle, shipped
from sciret.onnx_export.export import Pool, Precisions, Route, export_bundle

Sciret = Callable[..., Result]


def test_models_lists_what_ships(sciret: Sciret) -> None:
    listed = sciret("models").stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(shipped())
    found = json.loads(sciret("models", "--json").stdout)["models"]
    assert [each["bundle"] for each in found] == list(shipped())


def test_models_describes_one(sciret: Sciret) -> None:
    """What it gives, how large it is, whose it is, and where it would run here."""
    bundle = load_bundle("default")
    found = json.loads(sciret("models", "default", "--json").stdout)
    assert found["fingerprint"] == bundle.fingerprint
    assert found["outputs"] == list(bundle.outputs)
    assert found["licence"] == bundle.licence
    assert found["bytes"] == sum((bundle.folder / name).stat().st_size for name in bundle.files)
    assert found["used"]["device"] in ("cpu", "cuda")
    shown = dict(line.split(maxsplit=1) for line in sciret("models", "default").stdout.splitlines())
    assert (shown["fingerprint"], shown["used.device"]) == (bundle.fingerprint, found["used"]["device"])


def test_models_of_what_is_not_there(sciret: Sciret) -> None:
    result = sciret("models", "nowhere")
    assert result.exit_code == 1
    assert "sciret export" in result.stderr


def literals(hint: Any) -> tuple[str, ...]:
    """Of a Literal, optional or not."""
    return next((get_args(one) for one in get_args(hint) if get_args(one)), get_args(hint))


def test_export_offers_what_the_function_takes() -> None:
    """Every parameter is an option of the same name, default and choices."""
    options = {option.name: option for option in export_command.params if option.name != "as_json"}
    parameters = inspect.signature(export_bundle).parameters
    assert set(options) == set(parameters)
    hints = get_type_hints(export_bundle, localns={"Route": Route, "Pool": Pool, "Precisions": Precisions})
    given = export_command.make_context("export", ["source", "out"]).params
    for name, option in options.items():
        if isinstance(option.type, click.Choice):
            assert tuple(option.type.choices) == literals(hints[name])
        if isinstance(option, click.Option):
            assert given[name] == parameters[name].default
