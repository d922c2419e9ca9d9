"""Hits for people: rank, score, the paper, matched words and the sentence that matched best."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.table import Table
from rich.text import Text

from sciret.cli.answer import Answer
from sciret.cli.hit_record import best_sentence
from sciret.cli.output import console
from sciret.cli.terminal import harmless
from sciret.hit import Hit
from sciret.paper import Paper

WORDS = 8
"""Matched words in the short view, those with the largest share first."""


def print_hits(answer: Answer, *, explain: bool) -> None:
    if not answer.hits:
        console().print(nothing_found(answer))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), leading=1)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("paper", ratio=1)
    for hit in answer.hits:
        lines = (*_summary(hit), *(_explanation(hit, answer) if explain else _best(hit)))
        table.add_row(str(hit.rank), f"{hit.score:.4f}", Text("\n").join(lines))
    console().print(table)


def nothing_found(answer: Answer) -> str:
    """What to try, of the things that can be the reason."""
    scope = answer.options.scope
    tries = ["fewer or wider --where conditions"] if scope.where else []
    if not scope.restricted:
        tries.append("--access all for papers that are not open")
    if answer.options.sparse and answer.options.lambda_ == 0:
        tries.append("a --lambda above 0, which also finds papers that share no word with the question")
    return f"Nothing found in {harmless(answer.settings.store)}. Try {', or '.join(tries) or '`sciret stats`'}."


def _summary(hit: Hit) -> Iterator[Text]:
    yield Text(harmless(hit.paper.title), style="bold")
    yield Text(harmless(" · ".join(_identity(hit.paper))))
    if hit.why.terms:
        words = list(hit.why.terms)
        more = f" and {len(words) - WORDS} more" if len(words) > WORDS else ""
        yield Text(f"words: {harmless(', '.join(words[:WORDS]))}{more}", style="cyan")


def _identity(paper: Paper) -> Iterator[str]:
    if paper.authors:
        yield paper.authors[0] + (" et al." if len(paper.authors) > 1 else "")
    if paper.year is not None:
        yield str(paper.year)
    if not paper.is_searchable():
        yield paper.access
    yield paper.id


def _best(hit: Hit) -> Iterator[Text]:
    best = best_sentence(hit.why)
    if best is not None:
        yield Text(harmless(best.paper_text), style="dim")


def _explanation(hit: Hit, answer: Answer) -> Iterator[Text]:
    for line in sums(hit, answer):
        yield Text(line, style="green")
    if hit.why.terms:
        shares = ", ".join(f"{word} {share:.4f}" for word, share in hit.why.terms.items())
        yield Text(f"sparse {hit.parts['sparse']:.4f} is the sum over words: {harmless(shares)}")
    for number, cells in groupby(sorted(hit.why.sentences, key=lambda c: c.query_sentence), lambda c: c.query_sentence):
        row = sorted(cells, key=lambda cell: -cell.mass)
        yield Text(f"query sentence {number}: {harmless(row[0].query_text)}")
        for cell in row:
            yield Text(f"  → {cell.paper_sentence}, mass {cell.mass:.4f}, distance {cell.distance:.4f}: ").append(
                harmless(cell.paper_text), style="dim"
            )


def sums(hit: Hit, answer: Answer) -> Iterator[str]:
    """The score as sums of its parts, with the weights that were used."""
    parts, share = hit.parts, answer.rerank_weight
    if "rerank" in parts:
        yield (
            f"score {hit.score:.4f} = {1 - share:.4g} × fused {parts['fused']:.4f}"
            f" + {share:.4g} × {answer.options.rerank} {parts['rerank']:.4f}"
        )
    else:
        yield f"score {hit.score:.4f} = fused {parts['fused']:.4f}"
    if answer.options.sparse is None:
        yield f"fused {parts['fused']:.4f} = dense {parts['dense']:.4f}"
    else:
        dense = answer.options.lambda_
        yield (
            f"fused {parts['fused']:.4f} = {dense:.4g} × dense {parts['dense']:.4f}"
            f" + {1 - dense:.4g} × {answer.options.sparse} {parts['sparse']:.4f}"
        )
