"""`sciret delete`: remove papers by their ids."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import click

from sciret.cli.exit_codes import INCOMPLETE
from sciret.cli.options import existing_store_option
from sciret.settings import load_settings

BATCH = 500


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@existing_store_option
@click.pass_context
def command(ctx: click.Context, ids: tuple[str, ...], store: str | None) -> None:
    """Remove papers from the store.

    \b
    sciret delete p17 p18
    sciret delete - < ids.txt

    An ID of - stands for the lines of stdin. Ids that the store does not have are named on stderr and make the exit
    code 1; the others are deleted all the same.
    """
    from sciret.cli.output import warn
    from sciret.cli.stores import open_store

    deleted, missing = 0, 0
    with open_store(load_settings({"store": store}), create=False) as opened:
        for batch in _batches(_all_ids(ids)):
            known = opened.hashes(batch)
            deleted += opened.delete(list(known))
            for absent in (each for each in batch if each not in known):
                warn(f"no paper {absent!r} in the store")
                missing += 1
    click.echo(f"{deleted} deleted" + (f", {missing} not there" if missing else ""))
    ctx.exit(INCOMPLETE if missing else 0)


def _all_ids(ids: tuple[str, ...]) -> Iterator[str]:
    for each in ids:
        if each == "-":
            lines = (line.decode("utf-8", "replace").strip() for line in sys.stdin.buffer)
            yield from (line for line in lines if line)
        else:
            yield each


def _batches(ids: Iterable[str]) -> Iterator[list[str]]:
    """Without doubles, so that an id that is given twice is not reported as missing."""
    batch: dict[str, None] = {}
    for each in ids:
        batch[each] = None
        if len(batch) == BATCH:
            yield list(batch)
            batch = {}
    if batch:
        yield list(batch)
