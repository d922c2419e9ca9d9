"""`sciret index plan`: disk and memory before anything is bought."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from sciret.cli.index_options import chosen_layout, layout_options
from sciret.cli.options import json_option
from sciret.settings import load_settings

if TYPE_CHECKING:
    from sciret.connector.plan import Plan
    from sciret.mappings.options import IndexOptions


@click.command()
@click.option("--papers", type=click.IntRange(min=1), required=True, metavar="N", help="How many there will be.")
@click.option(
    "--sentences-per-paper",
    type=click.FloatRange(min=1),
    default=9.0,
    show_default=True,
    metavar="N",
    help="On average; `sciret stats` counts them.",
)
@click.option(
    "--characters-per-paper",
    type=click.FloatRange(min=1),
    default=1500.0,
    show_default=True,
    metavar="N",
    help="Of title and abstract, on average.",
)
@click.option(
    "--features-per-paper",
    type=click.FloatRange(min=0),
    metavar="N",
    help="Tokens and keyphrases, on average; `sciret stats` counts them in an embedded store.  [default: 130 tokens "
    "and 190 keyphrases where the model gives them]",
)
@click.option(
    "--dims", type=click.IntRange(1, 16_000), metavar="N", help="Numbers of a vector.  [default: those of the model]"
)
@click.option(
    "--model",
    metavar="BUNDLE",
    help="Which one papers will be encoded by: name or folder of a bundle.  [SCIRET_MODEL; default: default]",
)
@click.option("--nodes", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Of the cluster.")
@layout_options
@json_option
def plan(as_json: bool, nodes: int, model: str | None, **given: Any) -> None:
    """Say how much disk and memory an index will need, per node.

    \b
    sciret index plan --papers 1000000
    sciret index plan --papers 20000000 --nodes 6 --shards 6 --quantization byte

    By what papers took in an index that was measured (benchmarks/index_size.py) and, for graphs in memory, by the
    k-NN plugin's formula. No server is asked.
    """
    from sciret.cli.output import print_json, warn
    from sciret.connector.plan import Corpus, estimate, features_of
    from sciret.encoders.bundle import load_bundle
    from sciret.mappings.options import IndexOptions

    layout = chosen_layout(given, IndexOptions())
    bundle = load_bundle(load_settings({"model": model}).models[0])
    features = given["features_per_paper"]
    corpus = Corpus(
        papers=given["papers"],
        sentences=given["sentences_per_paper"],
        characters=given["characters_per_paper"],
        features=features_of(bundle.outputs) if features is None else features,
        dims=given["dims"] or bundle.dims,
    )
    found = estimate(corpus, layout, nodes)
    if as_json:
        print_json(plan_record(found, layout))
        return
    _print(found, layout)
    for remark in remarks(found, layout):
        warn(remark)


def plan_record(found: Plan, layout: IndexOptions) -> Mapping[str, Any]:
    return {
        "layout": layout.to_dict(),
        "nodes": found.nodes,
        "copies": found.copies,
        "vectors": found.vectors,
        "parts": {name: round(size) for name, size in found.parts.items()},
        "index_bytes": round(found.index),
        "shard_bytes": round(found.index / layout.shards),
        "disk_bytes": round(found.disk),
        "disk_bytes_per_node": round(found.disk_a_node),
        "loading_bytes": round(found.loading),
        "memory_bytes_per_node": round(found.memory_a_node),
    }


def _print(found: Plan, layout: IndexOptions) -> None:
    from sciret.cli.output import print_pairs

    where = "page cache" if layout.engine == "lucene" else "native memory"
    print_pairs(
        {
            **{name: human(size) for name, size in found.parts.items() if size},
            "one copy": f"{human(found.index)}, {human(found.index / layout.shards)} a shard",
            "disk": f"{human(found.disk)} for {found.copies} copies, {human(found.disk_a_node)} a node",
            "disk while loading": f"{human(found.loading)} for one copy, until segments are merged",
            "memory for graphs": f"{human(found.memory_a_node)} a node ({where}, beside the heap)",
        }
    )


def remarks(found: Plan, layout: IndexOptions) -> list[str]:
    """What somebody would find out later."""
    left: list[str] = []
    if found.copies > found.nodes:
        left.append(f"{found.copies} copies need as many nodes: the index stays yellow on {found.nodes}")
    if found.index / layout.shards > 50e9:
        left.append(f"a shard should stay below 50 GB: --shards {int(found.index // 40e9) + 1}")
    left.append("a migration needs the disk of one more index while the old one is kept")
    if layout.engine == "faiss":
        left.append("sizes with faiss are by formula: they were not measured")
    return left


def human(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if size >= 100 or unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"
