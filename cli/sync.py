"""`sciret sync`: a store follows the index that it was attached to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sciret.cli.attach import SETTINGS, pass_options, show_outcome
from sciret.cli.exit_codes import INTERRUPTED, REFUSED
from sciret.cli.options import json_option, model_options
from sciret.settings import load_settings

if TYPE_CHECKING:
    from sciret.cli.ingest_run import Outcome


@click.command()
@click.option(
    "--into", required=True, metavar="URL", help="The store: the alias that `sciret attach` made, or the index itself."
)
@click.option("--from", "source", metavar="URL", help="The existing index.  [default: the one that was attached]")
@click.option(
    "--by",
    default="_seq_no",
    show_default=True,
    metavar="FIELD",
    help="The field that tells what is new: a date or a number that grows with every change, such as updated_at. "
    "_seq_no is the server's own count of writes, which every index has.",
)
@click.option(
    "--overlap",
    metavar="SPAN",
    help="How far a pass looks back for what came late: a time for a date, a number otherwise.  "
    "[default: 5m for a date, 200 for _seq_no, 1000 for another number]",
)
@click.option(
    "--reconcile",
    is_flag=True,
    help="Read everything again, take what was missed, and remove papers whose document is gone.",
)
@click.option(
    "--max-deletions",
    type=click.FloatRange(0, 100),
    default=10.0,
    show_default=True,
    metavar="PERCENT",
    help="Of all papers: where --reconcile would remove more, it removes nothing and says so.",
)
@click.option("--every", metavar="TIME", help="Go on with a pass every so often, such as 60s or 5m, until Ctrl-C.")
@pass_options
@model_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Bring a store up to date with the index that it was attached to.

    \b
    sciret sync --into https://host:9200/sciret-library
    sciret sync --into https://host:9200/sciret-library --by updated_at --every 60s
    sciret sync --into https://host:9200/sciret-library --reconcile

    Reads what was written to the index since the last pass; what did not change in title, abstract or another field
    of papers is skipped. The store remembers how far it got, so a pass that was killed is continued by the next one,
    on any machine.

    An index does not tell what was deleted. Run it with --reconcile now and then, at night for instance: papers whose
    document is gone are removed then.
    """
    from sciret.cli.sync_run import Wish, run_sync
    from sciret.connector.address import Address
    from sciret.connector.order import seconds
    from sciret.errors import SettingsError

    every = seconds(given["every"]) if given["every"] else None
    if every is not None and given["reconcile"]:
        raise SettingsError(
            "--reconcile reads everything: run it by itself, every night for instance, not with --every"
        )
    wish = Wish(
        Address.parse(given["into"]),
        Address.parse(given["source"]) if given["source"] else None,
        given["by"],
        given["overlap"],
        given["reconcile"],
        given["max_deletions"],
    )

    def show(outcome: Outcome) -> None:
        show_outcome(outcome, as_json=given["as_json"])

    outcome = run_sync(wish, load_settings({name: given[name] for name in SETTINGS}), given["rejects"], every, show)
    if outcome.report.interrupted:
        click.echo("sciret: interrupted; run the same command again to continue", err=True)
        ctx.exit(INTERRUPTED)
    ctx.exit(REFUSED if outcome.report.rejected else 0)
