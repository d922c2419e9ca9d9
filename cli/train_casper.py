"""`sciret train casper`: a sparse model of wordpieces and keyphrases, from triplets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sciret.cli.train_options import configured, on_line, report, run_options


@click.command()
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.option("--triplets", metavar="FILE", help="What `sciret train mine` wrote.")
@run_options
def casper(
    out: Path, config: Path | None, settings: tuple[str, ...], resume: bool, as_json: bool, **options: Any
) -> None:
    """Train CASPER: queries and papers as sparse vectors of wordpieces and keyphrases.

    \b
    sciret train casper runs/casper --model runs/mlm --triplets triplets.jsonl.gz --papers papers.jsonl
    torchrun --nproc-per-node 4 -m sciret.cli.main train casper runs/casper --config casper.toml
    sciret train casper runs/casper --resume

    MODEL is a run of `sciret train mlm`, an earlier run of this command, or any masked language model or encoder, which
    then needs --keyphrases. Training ends at --steps, or when the loss on the triplets held out (split dev) gets no
    better. OUT holds the model, checkpoints, a log with curves, and what went into it all.

    Needs the extra: pip install 'sciret[train]'.
    """
    from sciret.errors import MissingExtraError

    try:
        from sciret.training.configuration import CasperTraining
        from sciret.training.train_casper import KIND, train_casper
    except ModuleNotFoundError as error:
        raise MissingExtraError("training", "train") from error
    configuration = configured(KIND, CasperTraining, out, resume, config, settings, options)
    report(out, train_casper(configuration, out, resume, on_line(as_json)), as_json)
