"""Options of an index' layout, which `create`, `migrate` and `plan` share. One that is not given is None."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from sciret.mappings.options import IndexOptions

F = TypeVar("F", bound=Callable[..., Any])

NAMES = ("shards", "replicas", "engine", "m", "ef_construction", "quantization", "sentences")

address_option = click.option(
    "--store",
    metavar="URL",
    help="The store on OpenSearch, such as https://host:9200/papers.  [SCIRET_STORE]",
)


def layout_options(command: F) -> F:
    """What can be chosen of an index before it is made."""
    for option in reversed(
        (
            click.option(
                "--shards", type=click.IntRange(1, 1024), metavar="N", help="Parts of the index.  [default: 1]"
            ),
            click.option(
                "--replicas", type=click.IntRange(0, 100), metavar="N", help="Further copies of each.  [default: 1]"
            ),
            click.option(
                "--engine",
                type=click.Choice(["lucene", "faiss"]),
                help="Who searches vectors: lucene is in every OpenSearch, faiss needs native libraries.  "
                "[default: lucene]",
            ),
            click.option(
                "--m",
                type=click.IntRange(2, 512),
                metavar="N",
                help="Neighbours of a vector in the graph.  [default: 16]",
            ),
            click.option(
                "--ef-construction",
                type=click.IntRange(2, 3200),
                metavar="N",
                help="Candidates that are looked at for them.  [default: 128]",
            ),
            click.option(
                "--quantization",
                type=click.Choice(["none", "byte", "fp16", "binary"]),
                help="Smaller vectors in the graph: byte with lucene; fp16 or binary with faiss.  [default: none]",
            ),
            click.option(
                "--sentences/--no-sentences",
                default=None,
                help="Whether single sentences can be candidates (nested vectors); reranking does without.  "
                "[default: sentences]",
            ),
        )
    ):
        command = option(command)
    return command


def chosen_layout(given: Mapping[str, Any], otherwise: IndexOptions) -> IndexOptions:
    """What was given, and for the rest what it is otherwise."""
    from dataclasses import replace

    return replace(otherwise, **{name: given[name] for name in NAMES if given[name] is not None})


def warn_of_engine(layout: IndexOptions) -> None:
    """A node without the libraries does not refuse: it ends."""
    from sciret.cli.output import warn

    if layout.engine == "faiss":
        warn(
            "faiss needs its native libraries on every node (the k-NN plugin of a full distribution has them): a node "
            "without them ends at the first write"
        )
