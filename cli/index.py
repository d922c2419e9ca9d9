"""`sciret index`: the versions of a store on OpenSearch."""

from __future__ import annotations

from typing import Any

import click

from sciret.cli.index_delete import delete
from sciret.cli.index_migrate import migrate
from sciret.cli.index_options import address_option, chosen_layout, layout_options, warn_of_engine
from sciret.cli.index_plan import plan
from sciret.cli.index_rollback import rollback
from sciret.cli.index_status import status
from sciret.settings import load_settings


@click.group()
def command() -> None:
    """Make, migrate, roll back and size the indices of a store on OpenSearch.

    \b
    sciret index plan --papers 1000000
    sciret index create --store https://host:9200/papers --shards 3
    sciret index migrate --store https://host:9200/papers --model NEW

    A store is an alias, such as papers. Behind it stands one version, an index such as papers-000001; migrate builds
    the next one while this one serves, and makes it live in one step.
    """


@command.command()
@address_option
@layout_options
def create(store: str | None, **given: Any) -> None:
    """Make an empty store with the layout that is chosen.

    \b
    sciret index create --store https://host:9200/papers --shards 3 --replicas 1

    Puts the templates on the cluster, makes the first version and gives it the alias. `sciret ingest` makes a store by
    itself, with the defaults.
    """
    from sciret.cli.cluster import open_cluster
    from sciret.connector.indices import IndexOptions, create_index, index_meta
    from sciret.connector.versions import read_versions
    from sciret.errors import StoreError

    layout = chosen_layout(given, IndexOptions())
    warn_of_engine(layout)
    with open_cluster(load_settings({"store": store})) as client:
        versions = read_versions(client)
        if versions.live:
            raise StoreError(
                f"{client.address} is there already ({versions.live.index}): `sciret index migrate` changes its layout"
            )
        name = versions.next_name
        create_index(client, name, layout, index_meta(layout, model=None, dims=None), alias=versions.alias)
    click.echo(f"{name} is made, and live as {versions.alias}: `sciret ingest` fills it")


for part in (status, plan, migrate, rollback, delete):
    command.add_command(part)
