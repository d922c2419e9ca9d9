"""`sciret train`: models from data. Each part is a file of its own; none imports anything heavy before it runs."""

from __future__ import annotations

import click

from sciret.cli.train_anchored import anchored
from sciret.cli.train_casper import casper
from sciret.cli.train_mine import mine
from sciret.cli.train_mlm import mlm


@click.group()
def command() -> None:
    """Mine training data and train models on it.

    \b
    sciret train mine --corpus papers.jsonl --contexts contexts.jsonl --out triplets.jsonl.gz
    sciret train mlm runs/mlm --model distilbert-base-uncased --keyphrases keyphrases.txt --papers papers.jsonl
    sciret train casper runs/casper --model runs/mlm --triplets triplets.jsonl.gz --papers papers.jsonl
    sciret train anchored runs/head --config head.toml

    docs/training.md describes the data and what comes of it.
    """


command.add_command(mine)
command.add_command(mlm)
command.add_command(casper)
command.add_command(anchored)
