"""`sciret index status`: which versions a store has, and what is left to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from sciret.cli.index_options import address_option
from sciret.cli.options import json_option
from sciret.settings import load_settings

if TYPE_CHECKING:
    from sciret.connector.version_figures import Figures
    from sciret.connector.versions import Versions


@click.command()
@address_option
@json_option
def status(store: str | None, as_json: bool) -> None:
    """Show the versions of a store: papers, size, model, health, and which one is live.

    \b
    sciret index status --store https://host:9200/papers

    Says too what an unfinished migration has left, and how to go on with it or be rid of it.
    """
    from sciret.cli.cluster import open_cluster
    from sciret.cli.output import print_json, warn
    from sciret.connector.version_figures import read_figures
    from sciret.connector.versions import read_versions

    with open_cluster(load_settings({"store": store})) as client:
        versions = read_versions(client)
        figures = read_figures(client, versions)
        address = str(client.address)
    left = list(remarks(versions, figures))
    if as_json:
        records = [version_record(each) for each in figures]
        print_json({"store": address, "versions": records, "remarks": left})
        return
    for number, each in enumerate(figures):
        if number:
            click.echo()
        _print(each)
    for remark in left:
        warn(remark)


def version_record(figures: Figures) -> Mapping[str, Any]:
    version = figures.version
    return {
        "index": version.index,
        "role": version.role,
        "created": _time(version.created),
        "papers": figures.papers,
        "bytes": figures.bytes,
        "health": figures.health,
        "writes": "refused" if version.read_only else "taken",
        "model": version.model,
        "model_name": version.meta.get("model_name"),
        "schema": version.meta.get("schema"),
        "layout": version.options.to_dict(),
    }


def remarks(versions: Versions, figures: Sequence[Figures]) -> Iterator[str]:
    """What somebody should do something about."""
    live, following = versions.live, versions.of("next")
    if live is None:
        yield f"{versions.alias} has no live version: `sciret index create` makes one"
    if live and following:
        papers = {each.version.index: each.papers for each in figures}
        yield (
            f"{following.index} is of a migration that runs or was broken off ({papers[following.index]:,} of "
            f"{papers[live.index]:,} papers): the same `sciret index migrate` continues it, "
            f"`sciret index delete next` removes it"
        )
    if live and live.read_only:
        yield (
            f"{live.index} is live and refuses writes: a migration is swapping or was killed while it did; the same "
            f"`sciret index migrate` continues it, `sciret index delete next` gives up and takes writes again"
        )
    for each in figures:
        if "before_load" in each.version.meta and each.version.role != "next":
            yield f"{each.version.index} has no copies and is not refreshed: an ingest loads it, or was killed"
        if each.health == "red":
            yield f"{each.version.index} is red: part of it is missing"


def _print(figures: Figures) -> None:
    from sciret.cli.output import print_pairs

    record = version_record(figures)
    layout = record["layout"]
    shape = f"shards={layout['shards']} replicas={layout['replicas']}"
    vectors = f"engine={layout['engine']} m={layout['m']} ef_construction={layout['ef_construction']}"
    kept = "" if layout["quantization"] == "none" else f" quantization={layout['quantization']}"
    nested = "" if layout["sentences"] else ", without sentences"
    print_pairs({**record, "layout": f"{shape} {vectors}{kept}{nested}"})


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")
