"""`sciret vocab build`: keyphrases of a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sciret.cli.options import json_option

if TYPE_CHECKING:
    from sciret.training.vocabulary import Vocabulary


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--size", type=click.IntRange(min=1), default=30_000, show_default=True, help="How many phrases.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, metavar="FILE", help="The file to write."
)
@click.option(
    "--min-papers",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Papers that a phrase must be in, unless two authors name it as a keyphrase.",
)
@click.option(
    "--temporary",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where counts go meanwhile, some 3 KB a paper.  [default: the system's folder]",
)
@json_option
def build(
    sources: tuple[str, ...], size: int, out: Path, min_papers: int, temporary: Path | None, as_json: bool
) -> None:
    """Choose the keyphrases that cover the papers of a corpus best.

    \b
    sciret vocab build papers.jsonl --out keyphrases.txt
    sciret vocab build bio=elife.jsonl cs=acl.jsonl cs=arxiv.jsonl --size 20000 --out keyphrases.txt

    A SOURCE is a file of papers, as for `sciret ingest`, or GROUP=FILE: every group counts the same, however many
    papers it has. Candidates are the authors' keyphrases and phrases of title and abstract; they are chosen greedily by
    what each adds to the papers that others cover. The corpus is read twice, in bounded memory.
    """
    from sciret.cli.output import print_json, warn
    from sciret.training.phrase_counts import Termhood
    from sciret.training.vocabulary import Source, build_vocabulary, write_phrases

    if not out.parent.is_dir():
        raise click.UsageError(f"--out {out}: there is no folder {out.parent}")
    found = build_vocabulary(
        [Source.parse(source) for source in sources],
        size,
        termhood=Termhood(papers=min_papers),
        folder=temporary,
        tell=lambda message: click.echo(f"sciret: {message}", err=True),
    )
    write_phrases(found.phrases, out)
    record = outcome(found, out)
    if as_json:
        print_json(record)
    else:
        print_outcome(record)
    if len(found.phrases) < size:
        warn(f"the corpus has only {len(found.phrases):,} terms; more papers, or a lower --min-papers, give more")


def outcome(found: Vocabulary, out: Path) -> dict[str, Any]:
    from sciret.training.vocabulary_report import coverage_of

    groups = [{"group": name, **coverage_of(held)} for name, held in found.held.items()]
    return {"file": str(out), "phrases": len(found.phrases), "terms": found.terms, "groups": groups}


def print_outcome(record: dict[str, Any]) -> None:
    from sciret.cli.terminal import harmless

    click.echo(f"{harmless(record['file'])}: {record['phrases']:,} phrases of {record['terms']:,} terms")
    for group in record["groups"]:
        print_coverage(group, harmless(group["group"]))


def print_coverage(coverage: dict[str, Any], name: str) -> None:
    shares = ", ".join(f"{least} or more in {share:.1%}" for least, share in coverage["papers_with"].items())
    label = f"{name}: " if name else ""
    click.echo(f"  {label}{coverage['papers']:,} papers, {coverage['mean']:.1f} phrases a paper; {shares}")
