"""What commands print: JSON for programs, tables for people, both on stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from sciret.cli.terminal import harmless

if TYPE_CHECKING:
    from rich.console import RenderableType

PIPED_WIDTH = 80


def print_json(document: Mapping[str, Any]) -> None:
    """One document. Where stdout is not UTF-8 it is escaped, since a "?" in data would be silent damage."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(document, ensure_ascii=not unicode, indent=2, allow_nan=False))


def print_pairs(pairs: Mapping[str, object] | Iterable[tuple[str, object]]) -> None:
    """Names and values in two columns; values that hold nothing are left out."""
    shown = [(name, _plain(value)) for name, value in dict(pairs).items() if value not in (None, "", (), [], {})]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        click.echo(f"{name:<{width}}  {value}")


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return harmless(str(value))


def warn(message: str) -> None:
    """A diagnosis that does not end the command."""
    click.echo(f"sciret: {harmless(message)}", err=True)


def print_rich(renderable: RenderableType) -> None:
    """As wide as the terminal, or 80 columns and without colour into a pipe. Markup in titles is not interpreted."""
    from rich.console import Console

    piped = not sys.stdout.isatty()
    console = Console(
        file=sys.stdout,
        width=PIPED_WIDTH if piped else None,
        no_color=True if piped else None,
        force_terminal=False if piped else None,
        markup=False,
        highlight=False,
        emoji=False,
    )
    with console.capture() as captured:
        console.print(renderable)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
