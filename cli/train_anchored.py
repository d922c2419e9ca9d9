"""`sciret train anchored`: a sparse head on a bundle that stays as it is, from triplets, on a CPU."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from sciret.cli.train_options import configured, on_line, report, run_options


@click.command()
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.option("--triplets", metavar="FILE", help="What `sciret train mine` wrote.")
@run_options
def anchored(
    out: Path, config: Path | None, settings: tuple[str, ...], resume: bool, as_json: bool, **options: Any
) -> None:
    """Train a sparse head on an encoder that is not changed.

    \b
    sciret export CHECKPOINT build/dense
    sciret train mine --corpus papers.jsonl --contexts contexts.jsonl --negatives 0 --out triplets.jsonl.gz
    sciret train anchored runs/head --model build/dense --triplets triplets.jsonl.gz --papers papers.jsonl \\
        --keyphrases keyphrases.txt
    sciret export runs/head bundle --backbone CHECKPOINT
    sciret train anchored runs/head --resume

    MODEL is a bundle with dense vectors, fp32 and int8. What it makes of every text is computed once, at some forty
    papers a second on two cores; then the head is trained, a second or two a step, by one process: torchrun is refused.
    The bundle that export makes of both gives tokens, keyphrases, dense and sentence vectors in one pass. This is how
    the default bundle was made.

    Needs the extras: pip install 'sciret[train,export]'.
    """
    from sciret.errors import MissingExtraError

    try:
        from sciret.training.configuration import AnchoredTraining
        from sciret.training.train_anchored import KIND, train_anchored
    except ModuleNotFoundError as error:
        raise MissingExtraError("training a head", "train,export") from error
    configuration = configured(KIND, AnchoredTraining, out, resume, config, settings, options)
    tell = partial(click.echo, err=True)
    report(out, train_anchored(configuration, out, resume, on_line(as_json), tell), as_json)
