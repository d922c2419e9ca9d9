"""Hits for people: rank, score, the paper, matched words and the sentence that matched best."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sciret.cli.answer import Answer
from sciret.cli.hit_explanation import explanation
from sciret.cli.hit_record import best_sentence
from sciret.cli.output import print_rich
from sciret.cli.terminal import harmless
from sciret.hit import Hit
from sciret.paper import Paper

WORDS = 8
"""Matched words, and matched concepts, in the short view, those with the largest share first."""


def print_hits(answer: Answer, *, explain: bool) -> None:
    if not answer.hits:
        click.echo(nothing_found(answer))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("paper")
    for hit in answer.hits:
        reasons = explanation(hit, answer) if explain else _reasons(hit)
        gap = ("",) if hit is not answer.hits[-1] else ()
        table.add_row(str(hit.rank), f"{hit.score:.4f}", Group(*_summary(hit), *reasons, *gap))
    print_rich(table)


def nothing_found(answer: Answer) -> str:
    """What to try, of the things that can be the reason."""
    scope = answer.options.scope
    tries = ["fewer or wider --where conditions"] if scope.where else []
    if not scope.restricted:
        tries.append("--access all for papers that are not open")
    if answer.options.sparse and answer.options.lambda_ == 0:
        tries.append("a --lambda above 0, which also finds papers that share no word with the question")
    return f"Nothing found in {harmless(answer.settings.store)}. Try {', or '.join(tries) or '`sciret stats`'}."


def _summary(hit: Hit) -> Iterator[RenderableType]:
    yield Text(harmless(hit.paper.title), style="bold")
    yield Text(harmless(" · ".join(_identity(hit.paper))))


def _identity(paper: Paper) -> Iterator[str]:
    if paper.authors:
        yield paper.authors[0] + (" et al." if len(paper.authors) > 1 else "")
    if paper.year is not None:
        yield str(paper.year)
    if not paper.is_searchable():
        yield paper.access
    yield paper.id


def _reasons(hit: Hit) -> Iterator[RenderableType]:
    for kind, matched in (("words", hit.why.terms), ("concepts", hit.why.keyphrases)):
        if matched:
            names = list(matched)
            more = f" and {len(names) - WORDS} more" if len(names) > WORDS else ""
            yield Text(f"{kind}: {harmless(', '.join(names[:WORDS]))}{more}", style="cyan")
    best = best_sentence(hit.why)
    if best is not None:
        yield Text(harmless(best.paper_text), style="dim")
