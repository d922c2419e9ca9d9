"""`sciret export`: a checkpoint becomes a model bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sciret.cli.options import json_option


@click.command()
@click.argument("source")
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--backbone", metavar="SOURCE", help="The model that a sparse head was trained on, where it is not with the head."
)
@click.option(
    "--via",
    type=click.Choice(["torch", "optimum"]),
    default="torch",
    show_default=True,
    help="Who writes the graph: torch's own exporter, or optimum.",
)
@click.option(
    "--outputs",
    type=click.Choice(["dense", "sparse", "both"]),
    help="Vectors of a text and its sentences, weights of wordpieces and keyphrases, or both in one pass.  [default: "
    "what the checkpoint is for: sparse of CASPER, dense of a plain model]",
)
@click.option(
    "--pooling",
    type=click.Choice(["cls", "mean"]),
    default="cls",
    show_default=True,
    help="How the document vector comes about: that of [CLS], or the mean of all. See the checkpoint's model card.",
)
@click.option(
    "--precision",
    type=click.Choice(["fp32", "int8", "both"]),
    default="both",
    show_default=True,
    help="Which graphs to write: int8 is small and quick on CPUs, fp32 is what GPUs use.",
)
@click.option("--name", help="What the model is called.  [default: the checkpoint's name]")
@click.option("--licence", default="", help="Licence of the weights, for the bundle's description.")
@click.option("--query-prefix", default="", help="What the checkpoint wants before a query.")
@click.option("--paper-prefix", default="", help="What the checkpoint wants before a paper.")
@click.option(
    "--max-length", type=click.IntRange(min=1), metavar="N", help="Longest text in tokens.  [default: at most 512]"
)
@click.option("--force", is_flag=True, help="Replace the bundle that is in OUT.")
@json_option
def command(source: str, out: Path, as_json: bool, **options: Any) -> None:
    """Turn a checkpoint into a model bundle.

    \b
    sciret export BAAI/bge-small-en-v1.5 bundles/bge --licence MIT
    sciret export path/to/checkpoint bundles/mine --pooling mean --precision int8
    sciret export runs/casper bundles/casper

    SOURCE is a folder of transformers, a hub name, a .onnx file with its tokenizer.json beside it, a package (.jar,
    .zip, .whl) that holds both, or what `sciret train casper` made: a run's folder, or the checkpoint in it. The
    vectors of the new graphs are compared with those of the checkpoint on real text; the figures go into
    OUT/bundle.json, and nothing is written where they are too far apart.

    Needs the extra: pip install 'sciret[export]'.
    """
    from sciret.cli.models import bundle_record, flat
    from sciret.cli.output import print_json, print_pairs
    from sciret.onnx_export.export import export_bundle

    record = bundle_record(str(out), export_bundle(source, out, **options))
    if as_json:
        print_json(record)
    else:
        print_pairs(flat(record))
