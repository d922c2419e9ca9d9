"""`sciret evaluate`: runs compared by judgments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sciret.cli.options import json_option

if TYPE_CHECKING:
    from rich.table import Table

    from sciret.evaluation.evaluate import Evaluation

_FILE = click.Path(path_type=Path)


@click.command()
@click.option("--qrels", type=_FILE, required=True, metavar="QRELS", help="Judgments: TREC qrels, or qid, docid, rel.")
@click.argument("runs", nargs=-1, required=True, type=_FILE, metavar="RUN...")
@json_option
def command(qrels: Path, runs: tuple[Path, ...], as_json: bool) -> None:
    """Compare TREC runs by relevance judgments.

    \b
    sciret evaluate --qrels qrels.tsv bm25.trec default.trec

    Prints nDCG@10, MAP, P@10, R@100 and MRR of each run, each with a 95 % bootstrap interval over the queries, and for
    every run after the first its difference from the first with the p of a paired randomisation test.

    Needs the extra: pip install 'sciret[evaluate]'.
    """
    from sciret.cli.output import print_json, print_rich
    from sciret.evaluation.evaluate import evaluate

    found = evaluate(qrels, runs)
    if as_json:
        print_json(found.to_dict())
    else:
        print_rich(table(found))
    warn_of_gaps(found)


def table(found: Evaluation) -> Table:
    """A row for each measure of each run, since five measures with intervals do not fit side by side."""
    from rich.table import Table
    from rich.text import Text

    from sciret.cli.terminal import harmless

    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("measure", "run", "mean", "95 % interval", "difference", "p"):
        shown.add_column(name, overflow="fold")
    for measure in found.measures:
        for row in found.rows:
            figure = row.figures[measure]
            shown.add_row(
                measure if row is found.rows[0] else "",
                Text(harmless(row.run)),
                f"{figure.mean:.4f}",
                f"{figure.low:.4f} to {figure.high:.4f}",
                "" if figure.difference is None else f"{figure.difference:+.4f}",
                "" if figure.p is None else f"{figure.p:.4f}",
            )
    return shown


def warn_of_gaps(found: Evaluation) -> None:
    """Queries on one side only change what the figures mean, so they are never silent."""
    from sciret.cli.output import warn

    for row in found.rows:
        if row.unanswered:
            warn(f"{row.run}: {row.unanswered} of {found.queries} judged queries are not in it; each counts as 0")
        if row.unjudged:
            warn(f"{row.run}: {row.unjudged} queries without judgments are left out")
