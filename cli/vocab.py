"""`sciret vocab`: the keyphrases that a model gives weights to."""

from __future__ import annotations

import click

from sciret.cli.vocab_add import add
from sciret.cli.vocab_build import build
from sciret.cli.vocab_inspect import inspect


@click.group()
def command() -> None:
    """Choose a vocabulary of keyphrases from a corpus, and look at one.

    \b
    sciret vocab build papers.jsonl --size 30000 --out keyphrases.txt
    sciret vocab inspect keyphrases.txt --source papers.jsonl
    sciret vocab add agrivoltaics --out bundles/mine

    A vocabulary is a text file, one phrase a line, the most useful first. docs/training.md says how it is chosen. Of a
    bundle it is a part, to which `add` adds.
    """


for part in (build, inspect, add):
    command.add_command(part)
