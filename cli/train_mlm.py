"""`sciret train mlm`: continual pretraining that grounds keyphrases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sciret.cli.train_options import configured, on_line, report, run_options


@click.command()
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@run_options
def mlm(out: Path, config: Path | None, settings: tuple[str, ...], resume: bool, as_json: bool, **options: Any) -> None:
    """Pretrain a language model on papers so that its keyphrases mean something.

    \b
    sciret train mlm runs/mlm --model distilbert-base-uncased --keyphrases keyphrases.txt --papers papers.jsonl
    torchrun --nproc-per-node 4 -m sciret.cli.main train mlm runs/mlm --config mlm.toml
    sciret train mlm runs/mlm --resume

    Every keyphrase gets a row beside the wordpieces of the model. Phrases that occur in a paper are hidden as a whole,
    and both their keyphrase and their words are to be guessed. OUT/model is what `sciret train casper` starts from.

    Needs the extra: pip install 'sciret[train]'.
    """
    from sciret.errors import MissingExtraError

    try:
        from sciret.training.configuration import MaskedTraining
        from sciret.training.train_mlm import KIND, train_mlm
    except ModuleNotFoundError as error:
        raise MissingExtraError("training", "train") from error
    configuration = configured(KIND, MaskedTraining, out, resume, config, settings, options)
    report(out, train_mlm(configuration, out, resume, on_line(as_json)), as_json)
