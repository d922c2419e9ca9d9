"""`sciret ingest`: papers from files into a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from sciret.cli.exit_codes import INTERRUPTED, REFUSED
from sciret.cli.options import json_option, model_options, store_option
from sciret.settings import load_settings

if TYPE_CHECKING:
    from sciret.cli.ingest_run import Outcome

FORMATS = ("jsonl", "csv", "tsv", "bibtex", "ris")


def column_mapping(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """`title=Titel`: a field of ours and the name of the column that holds it."""
    for value in values:
        field, _, column = value.partition("=")
        if not (field and column):
            raise click.BadParameter(f"{value!r}: give FIELD=COLUMN, such as title=Titel")
    return dict(value.split("=", 1) for value in values)


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@store_option
@click.option("--format", "format_", type=click.Choice(FORMATS), help="What the sources are.  [default: by name]")
@click.option(
    "--column",
    "columns",
    multiple=True,
    callback=column_mapping,
    metavar="FIELD=COLUMN",
    help="Of CSV and TSV: the column that a field is in, such as title=Titel; may be given several times.",
)
@click.option("--title-from-abstract", is_flag=True, help="Give papers without a title their first sentence as one.")
@click.option(
    "--rejects",
    metavar="FILE",
    help="Where refused records go, to be corrected and ingested again.  "
    "[default: beside the store, sciret.db has sciret.rejects.jsonl]",
)
@click.option(
    "--shard",
    metavar="I/N",
    help="Take only the I-th of N parts of the sources, so that N machines can share the work.  [default: 1/1]",
)
@click.option(
    "--initial-load",
    is_flag=True,
    help="Fill an empty index on OpenSearch without refresh and replicas; both come back at the end, or with the next "
    "ingest if this one is killed. A node that is lost meanwhile takes its papers with it: then ingest again.",
)
@click.option(
    "--events/--no-events",
    "ingest_events",
    default=None,
    help="On OpenSearch: keep how this ingest went, for dashboards.  [SCIRET_INGEST_EVENTS; default: yes]",
)
@click.option("--strict", is_flag=True, help="Stop at the first refused record, with exit code 1.")
@model_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Read papers from files, encode them and write them into a store.

    \b
    sciret ingest papers.jsonl
    sciret ingest *.bib export.csv --store papers.db
    curl -s URL | sciret ingest - --format jsonl

    A SOURCE is a file of JSON Lines, CSV, TSV, BibTeX or RIS, also compressed (.gz), or - for stdin. Papers that the
    store has and that did not change are skipped, so a run that was interrupted is continued by the same command.

    Records that cannot be taken are refused, each with file, line and reason, into a file that can be corrected and
    ingested again; the others go in, and the exit code is 3.
    """
    settings = load_settings({name: given[name] for name in ("store", "model", "device", "threads", "ingest_events")})
    from sciret.cli.ingest_run import Reading, run_ingest
    from sciret.cli.output import print_json
    from sciret.sources.shard import Shard

    shard = Shard.parse(given["shard"] or "1/1")
    reading = Reading(given["sources"], given["format_"], given["columns"], given["title_from_abstract"], shard)
    outcome = run_ingest(
        reading, settings, given["rejects"], strict=given["strict"], initial_load=given["initial_load"]
    )
    if given["as_json"]:
        print_json(outcome_record(outcome))
    else:
        print_outcome(outcome)
    if outcome.report.interrupted:
        click.echo("sciret: interrupted; run the same command again to continue", err=True)
        ctx.exit(INTERRUPTED)
    ctx.exit(REFUSED if outcome.report.rejected else 0)


def outcome_record(outcome: Outcome) -> Mapping[str, Any]:
    report = outcome.report
    return {
        "store": outcome.store,
        "read": report.read,
        "written": report.written,
        "unchanged": report.unchanged,
        "deleted": report.deleted,
        "refused": report.rejected,
        "truncated": report.truncated,
        "interrupted": report.interrupted,
        "seconds": round(report.seconds, 3),
        "papers_per_second": round(report.read / max(report.seconds, 1e-9), 1),
        "rejects": None if outcome.rejects is None else str(outcome.rejects),
        "reasons": outcome.reasons,
    }


def print_outcome(outcome: Outcome, remedy: str = "correct them in {} and ingest that file") -> None:
    from sciret.cli.terminal import harmless

    report = outcome.report
    counts = {
        "read": report.read,
        "written": report.written,
        "unchanged": report.unchanged,
        "deleted": report.deleted,
        "refused": report.rejected,
        "longer than the model reads": report.truncated,
    }
    shown = ", ".join(f"{n:,} {name}" for name, n in counts.items() if n or name in ("read", "written"))
    rate = report.read / max(report.seconds, 1e-9)
    click.echo(f"{harmless(outcome.store)}: {shown}; {report.seconds:.1f} s, {rate:.0f} papers/s")
    for reason in outcome.reasons:
        click.echo(f"  refused {harmless(reason)}")
    if report.rejected > len(outcome.reasons):
        click.echo(f"  and {report.rejected - len(outcome.reasons):,} more")
    if outcome.rejects is not None:
        click.echo(f"  {remedy.format(harmless(str(outcome.rejects)))}")
