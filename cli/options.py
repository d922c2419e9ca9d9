"""Options that several commands share. None of them has a default of its own: `sciret.settings` decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

DEVICES = ("auto", "cpu", "cuda")

store_option = click.option(
    "--store",
    metavar="STORE",
    help="File of the embedded store, or an alias on OpenSearch such as https://host:9200/papers; made when it is not "
    "there.  [SCIRET_STORE; default: sciret.db]",
)
existing_store_option = click.option(
    "--store",
    metavar="STORE",
    help="File of the embedded store, or an alias on OpenSearch such as https://host:9200/papers.  "
    "[SCIRET_STORE; default: sciret.db]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text for people.")
access_option = click.option(
    "--access",
    type=click.Choice(["open", "all"]),
    default="open",
    show_default=True,
    help="`open` leaves out papers that are restricted, metadata-only or under an embargo that has not ended.",
)


def model_options(command: F) -> F:
    """--model, --device and --threads: which encoder, and where it runs."""
    for option in (
        click.option(
            "--threads",
            type=click.IntRange(min=0),
            metavar="N",
            help="CPU threads of the encoder; 0 means all cores.  [SCIRET_THREADS; default: 0]",
        ),
        click.option(
            "--device",
            type=click.Choice(DEVICES),
            help="Where to encode; `cuda` is an error where there is none.  [SCIRET_DEVICE; default: auto]",
        ),
        click.option(
            "--model",
            metavar="BUNDLE",
            help="Name of a bundle that `sciret models` lists, or a bundle's folder; of several, with commas between, "
            "the one that the store was filled by.  [SCIRET_MODEL; default: default]",
        ),
    ):
        command = option(command)
    return command
