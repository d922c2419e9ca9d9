"""`sciret index delete`: versions that are not needed any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sciret.cli.index_options import address_option
from sciret.settings import load_settings

if TYPE_CHECKING:
    from sciret.connector.client import Client
    from sciret.connector.versions import Version, Versions


@click.command()
@click.argument("versions", nargs=-1, metavar="[VERSION]...")
@address_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--force", is_flag=True, help="Remove the live version too, if it is named: the store is gone then.")
def delete(versions: tuple[str, ...], store: str | None, yes: bool, force: bool) -> None:
    """Remove versions that are not live, for good.

    \b
    sciret index delete next
    sciret index delete 3 papers-000004 --yes

    A VERSION is an index, its number, or what it is: previous, next (of a migration that was broken off), live. Without
    one, all that are not live.
    """
    from sciret.cli.cluster import open_cluster
    from sciret.cli.output import warn
    from sciret.connector.versions import read_versions

    with open_cluster(load_settings({"store": store})) as client:
        found = read_versions(client)
        chosen = _chosen(found, versions, force=force)
        if not chosen:
            warn(f"{found.alias} has no version that is not live: nothing is removed")
            return
        names = ", ".join(f"{version.index} ({version.role})" for version in chosen)
        if not yes:
            click.confirm(f"Remove {names} from {client.address} for good?", abort=True, err=True)
        _remove(client, found, chosen)
    click.echo(f"{names}: removed")


def _chosen(found: Versions, names: tuple[str, ...], *, force: bool) -> list[Version]:
    """All of them are looked at before any is removed."""
    from sciret.errors import StoreError

    if not names:
        return [version for version in found if version.role != "live"]
    chosen = list(dict.fromkeys(found.named(name).index for name in names))
    versions = [version for version in found if version.index in chosen]
    if any(version.role == "live" for version in versions) and not force:
        raise StoreError(
            f"{found.live and found.live.index} is live: nothing is removed; --force removes it all the same"
        )
    return versions


def _remove(client: Client, found: Versions, chosen: list[Version]) -> None:
    from sciret.connector.versions import allow_writes, remove

    for version in chosen:
        remove(client, version, force=True)
        if version.role == "next" and found.live and found.live.read_only and found.live not in chosen:
            allow_writes(client, found.live.index)  # its migration was killed while it swapped
