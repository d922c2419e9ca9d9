"""`sciret index rollback`: the version that was live before is live again."""

from __future__ import annotations

import click

from sciret.cli.index_options import address_option
from sciret.settings import load_settings


@click.command()
@address_option
@click.option("--to", metavar="VERSION", default="previous", show_default=True, help="Which version to make live.")
def rollback(store: str | None, to: str) -> None:
    """Make the previous version live again, in one step.

    \b
    sciret index rollback --store https://host:9200/papers

    What was live becomes the previous version, so a second rollback undoes the first. What was written since the
    migration is only in the version that it was written to: the command says how much that is. To go back without a
    loss, migrate to the old model instead.
    """
    from sciret.cli.cluster import open_cluster
    from sciret.cli.output import warn
    from sciret.connector.promotion import roll_back

    with open_cluster(load_settings({"store": store})) as client:
        done = roll_back(client, to)
    click.echo(f"{done.promoted.index} is live as {client.address.alias}; {done.retired.index} is the previous version")
    if done.since:
        warn(
            f"{done.since:,} writes and deletions since the migration are in {done.retired.index} only: "
            f"ingest the same sources again to have them here"
        )
    if done.promoted.model != done.retired.model:
        warn(f"searches need the model {str(done.promoted.model)[:12]}… again (--model, SCIRET_MODEL)")
