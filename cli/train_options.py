"""Options that the trainings of `sciret train` share. Each overrides the configuration file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sciret.cli.options import json_option

if TYPE_CHECKING:
    from sciret.training.configuration import Training

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound="Training")
_FILE = click.Path(dir_okay=False, path_type=Path)


def run_options(command: F) -> F:
    """Where the run goes, what it reads, and how long."""
    for option in (
        json_option,
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="NAME=VALUE",
            help="Any field of the configuration; may be given several times. docs/training.md lists them.",
        ),
        click.option("--resume", is_flag=True, help="Go on with the run in OUT, exactly where it stopped."),
        click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where to compute.  [default: auto]"),
        click.option("--seed", type=int, metavar="N", help="Of order, masking and dropout.  [default: 1]"),
        click.option("--rate", type=float, metavar="R", help="Highest learning rate."),
        click.option("--batch", type=int, metavar="N", help="Texts or triplets of each process in a step."),
        click.option(
            "--steps", type=int, metavar="N", help="Steps of the optimizer.  [default: 100000; 1000 of anchored]"
        ),
        click.option(
            "--keyphrases", metavar="FILE", help="A keyphrase a line, for a model that has none: see `sciret vocab`."
        ),
        click.option("--papers", multiple=True, metavar="SOURCE", help="Papers; may be given several times."),
        click.option(
            "--model", metavar="MODEL", help="A masked language model or encoder, or the folder of an earlier run."
        ),
        click.option("--config", type=_FILE, metavar="FILE.toml", help="Fields of the configuration."),
    ):
        command = option(command)
    return command


def configured(
    kind: str,
    of: type[T],
    out: Path,
    resume: bool,
    config: Path | None,
    settings: tuple[str, ...],
    options: dict[str, Any],
) -> T:
    """A run that goes on has its configuration already; anything else given would be passed over in silence."""
    from sciret.training.run_folder import RunFolder

    if not resume:
        return of.load(config, options, settings)
    given = [name for name, value in options.items() if value not in (None, ())]
    if config or settings or given:
        raise click.UsageError(
            f"--resume goes on with what {out} began with; leave the other options out, or start another run"
        )
    return RunFolder(out).configuration(kind, of)


def on_line(as_json: bool) -> Callable[[dict[str, Any]], None]:
    """What a run says on the way, on stderr: the first process only, since the others have nothing to add."""
    import json

    def tell(line: dict[str, Any]) -> None:
        if as_json:
            click.echo(json.dumps(line), err=True)
        else:
            shown = (f"{name} {value:.4g}" for name, value in line.items() if name not in ("step", "seconds"))
            click.echo(f"step {line['step']:>7}  {'  '.join(shown)}  ({line['seconds']:.0f} s)", err=True)

    return tell


def report(out: Path, outcome: Any, as_json: bool) -> None:
    """The first of several processes says what came of it."""
    import os
    from dataclasses import asdict

    from sciret.cli.output import print_json, print_pairs

    if os.environ.get("RANK", "0") != "0":
        return
    record = {"model": str(out / "model"), "curves": str(out / "curves.svg"), **asdict(outcome)}
    if as_json:
        print_json(record)
    else:
        print_pairs(record)
