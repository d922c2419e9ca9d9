"""`sciret vocab inspect`: what is in a vocabulary, and what it does for a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sciret.cli.options import json_option


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="SOURCE",
    help="Papers to measure its coverage on; may be given several times, each is measured by itself.",
)
@click.option(
    "--examples",
    type=click.IntRange(min=0),
    default=8,
    show_default=True,
    metavar="N",
    help="Phrases shown of each part.",
)
@json_option
def inspect(file: Path, sources: tuple[str, ...], examples: int, as_json: bool) -> None:
    """Show a vocabulary's size, lengths and examples, and how it covers a corpus.

    \b
    sciret vocab inspect keyphrases.txt
    sciret vocab inspect keyphrases.txt --source papers.jsonl

    `within` counts phrases that are part of longer ones, as language model is of large language model. Of a corpus it
    says how many phrases a paper has, which are in most papers, and how many are in none.
    """
    from sciret.cli.output import print_json
    from sciret.encoders.phrases import load_phrases
    from sciret.training.vocabulary_report import corpus_report, describe

    phrases = load_phrases(file)
    record: dict[str, Any] = {"file": str(file), **describe(phrases, examples)}
    record["sources"] = [{"source": source, **corpus_report(phrases, source, examples)} for source in sources]
    if as_json:
        print_json(record)
    else:
        print_report(record)


def print_report(record: dict[str, Any]) -> None:
    from sciret.cli.output import print_pairs
    from sciret.cli.terminal import harmless
    from sciret.cli.vocab_build import print_coverage

    words = ", ".join(f"{count:,} of {length}" for length, count in record["words"].items())
    pairs: dict[str, object] = {"phrases": record["phrases"], "words": words}
    pairs |= {"within": record["within"], "first": ", ".join(record["first"])}
    pairs |= {"middle": ", ".join(record["middle"]), "last": ", ".join(record["last"])}
    print_pairs(pairs)
    for source in record["sources"]:
        click.echo("")
        click.echo(harmless(source["source"]))
        print_coverage(source, "")
        click.echo(f"  in most papers: {harmless(', '.join(source['commonest']))}")
        click.echo(f"  in no paper: {source['unused']:,} phrases")
