"""`sciret index migrate`: another model or layout for a store that goes on serving meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from sciret.cli.index_options import address_option, layout_options
from sciret.cli.options import json_option
from sciret.settings import load_settings

if TYPE_CHECKING:
    from sciret.cli.index_migration import Outcome


@click.command()
@address_option
@click.option(
    "--model",
    metavar="BUNDLE",
    help="The model that the new version is for: name or folder of a bundle.  [default: that of the live version]",
)
@click.option(
    "--old-model",
    metavar="BUNDLE",
    help="The model of the live version, to ask it canaries.  [default: SCIRET_MODEL, or one that ships with sciret]",
)
@layout_options
@click.option("--rebuild", is_flag=True, help="Build a new version even if it has the same model and layout.")
@click.option(
    "--canary",
    metavar="FILE.jsonl",
    help="Questions for both versions, as for `sciret search --queries`.  [default: titles of papers in the store]",
)
@click.option(
    "--canaries", type=click.IntRange(0, 1000), default=50, show_default=True, help="How many titles; 0 asks nothing."
)
@click.option(
    "--min-overlap",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Of the first 10 papers, on average, that both versions must have in common.  "
    "[default: 0.9 for the same model, 0.3 for another one]",
)
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where to encode.  [SCIRET_DEVICE]")
@click.option("--threads", type=click.IntRange(min=0), metavar="N", help="CPU threads.  [SCIRET_THREADS]")
@json_option
def migrate(**given: Any) -> None:
    """Build a version with another model or layout while the live one serves, and make it live.

    \b
    sciret index migrate --store https://host:9200/papers --model bundles/new
    sciret index migrate --shards 6 --no-sentences

    Papers come out of the live version. The same model keeps their vectors; another one encodes them anew. What is
    written or deleted meanwhile is caught up with. Then canaries are asked of both versions, and if the answers are
    good enough the alias is moved in one step; for the last pass, mostly some seconds, writes are refused and searches
    go on. The old version stays for `sciret index rollback`.

    A run that was interrupted is continued by the same command; `sciret index delete next` gives it up.
    """
    from sciret.cli.index_migration import run_migration
    from sciret.cli.output import print_json

    names = ("store", "device", "threads")
    outcome = run_migration(load_settings({name: given[name] for name in names}), given)
    if given["as_json"]:
        print_json(outcome_record(outcome))
    else:
        print_outcome(outcome)


def outcome_record(outcome: Outcome) -> Mapping[str, Any]:
    report, canaries = outcome.report, outcome.canaries
    found = canaries.found if canaries else None
    return {
        "old": outcome.old,
        "new": outcome.new,
        "model": outcome.model,
        "encoded": outcome.encoded,
        "papers": report.papers,
        "copied": report.copied,
        "deleted": report.deleted,
        "passes": report.passes,
        "seconds": round(report.seconds, 3),
        "writes_refused_seconds": round(report.held, 3),
        "canaries": len(canaries.canaries) if canaries else 0,
        "overlap": round(canaries.overlap, 4) if canaries else None,
        "titles_found_old": found[0] if found else None,
        "titles_found_new": found[1] if found else None,
    }


def print_outcome(outcome: Outcome) -> None:
    report, canaries = outcome.report, outcome.canaries
    how = "encoded anew" if outcome.encoded else "taken over with their vectors"
    click.echo(
        f"{outcome.new} is live with {report.papers:,} papers, {how}, after {report.seconds:.1f} s; "
        f"writes were refused for {report.held:.1f} s"
    )
    if canaries:
        found = f", titles found {canaries.found[0]:.0%} and {canaries.found[1]:.0%}" if canaries.found else ""
        click.echo(f"{len(canaries.canaries)} canaries: {canaries.overlap:.0%} of the first papers in common{found}")
    click.echo(f"{outcome.old} is kept: sciret index rollback")
