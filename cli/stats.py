"""`sciret stats`: what is in the store."""

from __future__ import annotations

import click

from sciret.cli.options import existing_store_option, json_option
from sciret.settings import load_settings


@click.command()
@existing_store_option
@json_option
def command(store: str | None, as_json: bool) -> None:
    """Say what is in the store.

    \b
    sciret stats --store papers.db
    """
    from sciret.cli.output import print_json, print_pairs
    from sciret.cli.stores import open_store

    settings = load_settings({"store": store})
    with open_store(settings, create=False) as opened:
        found = {"store": settings.store, **opened.stats()}
    if as_json:
        print_json(found)
    else:
        print_pairs(found)
