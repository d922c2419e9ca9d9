"""`sciret train`: models from data. Each part is a file of its own; none imports anything heavy before it runs."""

from __future__ import annotations

import click

from sciret.cli.train_mine import mine


@click.group()
def command() -> None:
    """Mine training data and train models on it.

    \b
    sciret train mine --corpus papers.jsonl --contexts contexts.jsonl --out triplets.jsonl.gz

    docs/training.md describes the data and what comes of it.
    """


command.add_command(mine)
