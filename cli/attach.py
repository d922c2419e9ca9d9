"""`sciret attach`: what a search needs, for the documents of an index that is there already."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sciret.cli.exit_codes import INTERRUPTED, REFUSED
from sciret.cli.options import json_option, model_options
from sciret.settings import load_settings

if TYPE_CHECKING:
    from sciret.cli.ingest_run import Outcome

F = TypeVar("F", bound=Callable[..., Any])
SETTINGS = ("model", "device", "threads", "ingest_events")


def field_mapping(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """`year=pub.year`: a field of a paper and where documents have it."""
    for value in values:
        field, _, path = value.partition("=")
        if not (field and path):
            raise click.BadParameter(f"{value!r}: give FIELD=PATH, such as year=pub.year")
    return dict(value.split("=", 1) for value in values)


def pass_options(command: F) -> F:
    """What attach and sync have in common."""
    for option in (
        click.option(
            "--events/--no-events",
            "ingest_events",
            default=None,
            help="Keep how this went on the cluster, for dashboards.  [SCIRET_INGEST_EVENTS; default: yes]",
        ),
        click.option(
            "--rejects",
            metavar="FILE",
            help="Where documents that cannot be papers go, each with its index, id and reason.  "
            "[default: named after the store, in the working directory]",
        ),
    ):
        command = option(command)
    return command


@click.command()
@click.option(
    "--from", "source", required=True, metavar="URL", help="The existing index or alias: https://host:9200/library."
)
@click.option("--title", required=True, metavar="FIELD", help="The field that holds titles, such as bib.title.")
@click.option("--abstract", metavar="FIELD", help="The field that holds abstracts.")
@click.option(
    "--field",
    "fields",
    multiple=True,
    callback=field_mapping,
    metavar="NAME=FIELD",
    help="A further field of papers and the field that holds it, such as year=pub.year or access=rights; may be given "
    "several times.",
)
@click.option(
    "--into",
    metavar="URL",
    help="The store to make: an alias on the same or another cluster.  [default: sciret-library beside library]",
)
@click.option(
    "--in-place",
    is_flag=True,
    help="Write into the documents themselves, under one object named sciret, instead of an index of our own.",
)
@click.option("--title-from-abstract", is_flag=True, help="Give papers without a title their first sentence as one.")
@pass_options
@model_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Make an index that you have searchable by sciret, and leave it as it is.

    \b
    sciret attach --from https://host:9200/library --title titel --abstract summary.text
    sciret attach --from https://host:9200/library --title titel --field year=pub.year --field authors=people.name
    sciret search "peat carbon" --store https://host:9200/sciret-library

    Reads every document, encodes its title and abstract, and writes the result, under the same id, into an index
    beside the existing one. The existing one is only read: what uses it goes on as before. Papers that the store has
    and that did not change are skipped, so a run that was interrupted is continued by the same command.
    Afterwards `sciret sync` keeps the store up to date.

    Every paper counts as open to everybody unless --field access=… says where documents tell otherwise.

    With --in-place there is no second index: documents get an object named sciret, and nothing else of them changes.
    What that means for the index is in docs/opensearch.md.
    """
    from sciret.cli.attach_run import Wish, run_attach
    from sciret.connector.address import Address
    from sciret.connector.field_map import FieldMap
    from sciret.errors import SettingsError

    if given["in_place"] and given["into"]:
        raise SettingsError("--into and --in-place are two places; give one of them")
    wish = Wish(
        Address.parse(given["source"]),
        Address.parse(given["into"]) if given["into"] else None,
        given["in_place"],
        FieldMap.of(given["title"], given["abstract"], given["fields"]),
        given["title_from_abstract"],
    )
    outcome = run_attach(wish, load_settings({name: given[name] for name in SETTINGS}), given["rejects"])
    show_outcome(outcome, as_json=given["as_json"])
    if outcome.report.interrupted:
        click.echo("sciret: interrupted; run the same command again to continue", err=True)
        ctx.exit(INTERRUPTED)
    ctx.exit(REFUSED if outcome.report.rejected else 0)


def show_outcome(outcome: Outcome, *, as_json: bool) -> None:
    from sciret.cli.ingest import outcome_record, print_outcome
    from sciret.cli.output import print_json

    if as_json:
        print_json(outcome_record(outcome))
    else:
        print_outcome(outcome, "{} lists them; correct the documents, and `sciret sync` takes them")
