"""`--explain` for people: the sum behind a score, the words and concepts, and which sentence was moved to which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from sciret.cli.answer import Answer
from sciret.cli.terminal import harmless
from sciret.encoders.sparse_side import shares
from sciret.hit import Hit, SentenceMatch


def explanation(hit: Hit, answer: Answer) -> Iterator[RenderableType]:
    for line in sums(hit, answer):
        yield Text(line, style="green")
    for kind, matched in (("words", hit.why.terms), ("concepts", hit.why.keyphrases)):
        if matched:
            names = ", ".join(f"{name} {share:.1%}" for name, share in matched.items())
            yield Text(f"{kind}, each with its share of {_sparse(answer)}: {harmless(names)}")
    by_row = sorted(hit.why.sentences, key=lambda cell: (cell.query_sentence, -cell.mass))
    for number, cells in groupby(by_row, lambda cell: cell.query_sentence):
        row = list(cells)
        yield Text(f"query sentence {number}: {harmless(row[0].query_text)}")
        yield _moved(row)


def sums(hit: Hit, answer: Answer) -> Iterator[str]:
    """The score as sums of its parts, with the weights that were used, so that a person can check them."""
    parts, share, dense = hit.parts, answer.rerank_weight, answer.options.lambda_
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
        yield (
            f"fused {parts['fused']:.4f} = {dense:.4g} × dense {parts['dense']:.4f}"
            f" + {1 - dense:.4g} × {_sparse(answer)} {parts['sparse']:.4f}"
        )
    if answer.options.sparse == "both":
        each = " + ".join(f"{share:.4g} × {name} {parts[name]:.4f}" for name, share in shares("both").items())
        yield f"sparse {parts['sparse']:.4f} = {each}"


def _sparse(answer: Answer) -> str:
    """What people read: the name of the channel, where it is only one."""
    return "sparse" if answer.options.sparse == "both" else str(answer.options.sparse)


def _moved(cells: Sequence[SentenceMatch]) -> Table:
    """Where the mass of one query sentence goes."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("  to", justify="right")
    table.add_column("mass")
    table.add_column("distance")
    table.add_column("sentence of the paper")
    for cell in cells:
        text = Text(harmless(cell.paper_text), style="dim")
        table.add_row(str(cell.paper_sentence), f"{cell.mass:.4f}", f"{cell.distance:.4f}", text)
    return table
