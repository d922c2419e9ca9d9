"""`sciret dashboards`: the saved objects of OpenSearch Dashboards, into a file or into a running server."""

from __future__ import annotations

import click

from sciret.settings import load_settings

ALIAS = "papers"
"""Of a store that is no address."""

alias_option = click.option(
    "--alias",
    metavar="NAME",
    help="The store's alias on the cluster.  [default: that of SCIRET_STORE where it is an address, or papers]",
)


@click.group()
def command() -> None:
    """Put dashboards of the corpus, of ingests and of searches into OpenSearch Dashboards.

    \b
    sciret dashboards install --dashboards-url https://dashboards.example.org
    sciret dashboards export dashboards.ndjson

    Three dashboards for a store: what is in it, how papers come in, and what is asked of it. The last is empty
    unless searches are logged (sciret search --log-query, or SCIRET_QUERY_LOG=1).
    """


@command.command()
@click.argument("file", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@alias_option
def export(file: str, alias: str | None) -> None:
    """Write them as NDJSON, for an import by hand.

    \b
    sciret dashboards export dashboards.ndjson
    sciret dashboards export --alias theses > theses.ndjson

    Without FILE, or with -, to stdout. In OpenSearch Dashboards the file goes to Dashboards Management, Saved
    objects, Import; its name must end in .ndjson.
    """
    from sciret.cli.output import warn
    from sciret.mappings.dashboards import ndjson

    text = ndjson(chosen_alias(alias))
    with click.open_file(file, "w", encoding="utf-8") as out:
        out.write(text)
    if file != "-":
        warn(f"{len(text.splitlines())} objects written to {file}")


@command.command()
@click.option(
    "--dashboards-url",
    metavar="URL",
    required=True,
    help="Where OpenSearch Dashboards is, with its base path, such as https://host:5601.",
)
@click.option(
    "--tenant", metavar="NAME", help="Of the security plugin: `global` is seen by all.  [default: the user's]"
)
@alias_option
def install(dashboards_url: str, tenant: str | None, alias: str | None) -> None:
    """Import them into a running OpenSearch Dashboards.

    \b
    sciret dashboards install --dashboards-url https://dashboards.example.org --tenant global

    Installing again replaces what was installed before. User, password and certificates are those of the cluster:
    SCIRET_OPENSEARCH_USER, SCIRET_OPENSEARCH_PASSWORD (or it is asked for), SCIRET_OPENSEARCH_CA.
    """
    from sciret.cli.cluster import credentials_of
    from sciret.connector import dashboards
    from sciret.mappings.dashboards import ndjson

    who = credentials_of(load_settings())
    count = dashboards.install(dashboards_url, ndjson(chosen_alias(alias)), who, tenant)
    click.echo(f"{count} objects are in {dashboards_url}: open it and look for dashboards that begin with sciret")


def chosen_alias(alias: str | None) -> str:
    """As given, or of the store that the settings name."""
    from sciret.connector.address import Address, checked_alias, is_address

    if alias is not None:
        return checked_alias(alias)
    store = load_settings().store
    return Address.parse(store).alias if is_address(store) else ALIAS
