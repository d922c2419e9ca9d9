"""`sciret keyphrases`: what a text is about, in its own words and in those of the model's vocabulary."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sciret.cli.exit_codes import REFUSED
from sciret.cli.ingest import FORMATS
from sciret.cli.options import access_option, existing_store_option, json_option, model_options
from sciret.settings import Settings, load_settings

if TYPE_CHECKING:
    from sciret.paper import Paper
    from sciret.retrieval.keyphrases import Keyphrases

TOP = 10


@click.command()
@click.argument("text", required=False, metavar="TEXT|FILE")
@click.option(
    "--paper", metavar="PAPER_ID", help="Those of this paper of the store, by what it was given when it was ingested."
)
@existing_store_option
@click.option(
    "-k",
    "--top",
    type=click.IntRange(min=1),
    default=TOP,
    metavar="N",
    help=f"At most N of each kind.  [default: {TOP}]",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    help="FILE or stdin holds papers in this format.  [default: by name, and other files and stdin are one text]",
)
@access_option
@model_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Name the keyphrases of a text, of papers in a file, or of a paper in the store.

    \b
    sciret keyphrases "Corals lose their algae when the sea gets too warm."
    sciret keyphrases papers.jsonl -k 5 --json
    sciret keyphrases --paper p17

    Present ones are phrases of the text, by how much of it they are about; absent ones are concepts of the model's
    vocabulary that fit although the text does not have them, by the model's weight. A FILE that `sciret ingest` can
    read has an answer for each paper, with --json one a line; any other file, and stdin (-), is one text.
    """
    if (given["text"] is None) == (given["paper"] is None):
        raise click.UsageError("Give either TEXT, FILE or - for stdin, or --paper PAPER_ID.")
    settings = load_settings({name: given[name] for name in ("store", "model", "device", "threads")})
    if given["paper"] is not None:
        found = of_stored(settings, given["paper"], given["top"], restricted=given["access"] == "all")
        show(found, as_json=given["as_json"])
    elif source := source_format(given["text"], given["format_"]):
        refused = of_papers(settings, given["text"], source, given["top"], as_json=given["as_json"])
        ctx.exit(REFUSED if refused else 0)
    else:
        show(of_text(settings, given["text"], given["top"]), as_json=given["as_json"], named=False)


def source_format(name: str, format_: str | None) -> str | None:
    """The format of papers that a file is in; None for what is one text."""
    from sciret.errors import SettingsError
    from sciret.sources.reader import format_of

    if format_ is not None or name == "-":
        return format_
    try:
        # A title may end in "the .csv": what looks like a file has no blank in it, or is there.
        return format_of(name) if is_file(name) or not any(letter.isspace() for letter in name) else None
    except SettingsError:
        return None


def is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long to be a name, or with a NUL in it
        return False


def of_stored(settings: Settings, paper_id: str, most: int, *, restricted: bool) -> Keyphrases:
    from sciret.cli.stores import open_store
    from sciret.retrieval.keyphrases import stored_keyphrases
    from sciret.retrieval.queries import open_paper

    with open_store(settings, create=False) as store:
        return stored_keyphrases(open_paper(store, paper_id, restricted=restricted), most)


def of_text(settings: Settings, text: str, most: int) -> Keyphrases:
    from sciret.cli.encoders import encoders_of
    from sciret.retrieval.keyphrases import keyphrases, text_as_paper

    paper = text_as_paper(read_text(text))
    (found,) = keyphrases([paper], encoders_of(settings).for_model(None), most)
    return found


def read_text(text: str) -> str:
    """Of stdin, of a file, or as it was given."""
    from sciret.errors import SettingsError

    try:
        if text == "-":
            return sys.stdin.buffer.read().decode("utf-8")
        return Path(text).read_text(encoding="utf-8") if is_file(text) else text
    except UnicodeDecodeError as error:
        raise SettingsError(f"{text}: not UTF-8 ({error}); convert it") from error


def of_papers(settings: Settings, name: str, format_: str, most: int, *, as_json: bool) -> int:
    """Each answer as soon as it is there. How many records were refused."""
    from sciret.cli.encoders import encoders_of
    from sciret.cli.output import warn
    from sciret.retrieval.keyphrases import keyphrases
    from sciret.sources.reader import open_source

    refused = 0
    records = open_source(name, format=format_)

    def papers() -> Iterator[Paper]:
        nonlocal refused
        for record in records:
            if isinstance(record, Exception):
                warn(str(record))
                refused += 1
            elif not record.deleted:
                yield record

    encoder = encoders_of(settings).for_model(None)
    for number, found in enumerate(keyphrases(papers(), encoder, most)):
        if as_json:
            show_line(found)
        else:
            show_named(found, first=not number)
    return refused


def record_of(found: Keyphrases, *, named: bool = True) -> Mapping[str, Any]:
    """The same keys for every text; one that was typed has neither id nor title."""
    return {
        "id": found.paper.id if named else None,
        "title": found.paper.title if named else None,
        "present": dict(found.present),
        "absent": dict(found.absent),
    }


def show_line(found: Keyphrases) -> None:
    import json

    click.echo(json.dumps(record_of(found), ensure_ascii=False))


def show_named(found: Keyphrases, *, first: bool) -> None:
    from sciret.cli.terminal import harmless

    if not first:
        click.echo()
    click.echo(harmless(f"{found.paper.id}  {found.paper.title}"))
    show(found, as_json=False)


def show(found: Keyphrases, *, as_json: bool, named: bool = True) -> None:
    from sciret.cli.output import print_json
    from sciret.cli.terminal import harmless

    if as_json:
        print_json(record_of(found, named=named))
        return
    for kind, weights in (("present", found.present), ("absent", found.absent)):
        for number, (phrase, weight) in enumerate(weights.items()):
            click.echo(f"{'' if number else kind:<7}  {weight:7.3f}  {harmless(phrase)}")
    if not found.present and not found.absent:
        click.echo("No keyphrase.")
