"""Beginning and end of every run: the model it starts from, the folder's description, the result."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sciret.errors import SettingsError
from sciret.training.casper import Shape
from sciret.training.casper_folder import (
    Checkpoint,
    casper_folder,
    open_casper,
    read_keyphrases,
    save_casper,
    start_casper,
)
from sciret.training.configuration import Training
from sciret.training.run_folder import RunFolder


def begin(
    run: RunFolder, kind: str, configuration: Training, hashes: Mapping[str, str], world: int, resume: bool
) -> None:
    """Describe a new run, or make sure that the one in the folder can be gone on with."""
    if resume:
        run.check_data(kind, hashes)
    else:
        run.check_new()
        run.begin(kind, configuration, hashes, world)


def finish(run: RunFolder, kind: str, checkpoint: Checkpoint) -> None:
    """Write the result, whole or not at all; a run that is gone on with after its end has it already."""
    if run.model.exists():
        return
    history = {"kind": kind, "before": dict(checkpoint.provenance), **run.provenance(kind)}
    aside = run.model.with_name(f".{run.model.name}")
    shutil.rmtree(aside, ignore_errors=True)
    save_casper(aside, replace(checkpoint, provenance=history, fresh=False))
    aside.rename(run.model)


def load_model(configuration: Training, shape: Shape) -> Checkpoint:
    """A CASPER checkpoint as it is, or a language model with keyphrase rows put to it."""
    given = read_keyphrases(Path(configuration.keyphrases)) if configuration.keyphrases else None
    if casper_folder(configuration.model):
        checkpoint = open_casper(configuration.model, shape, configuration.chunk)
        if given is not None and given != checkpoint.keyphrases:
            raise SettingsError(
                f"{configuration.model} has keyphrases of its own, and they are not those of "
                f"{configuration.keyphrases}; leave --keyphrases out, or start from a model without"
            )
    elif given is None:
        raise SettingsError(f"{configuration.model} has no keyphrases; give a list of them with --keyphrases")
    else:
        checkpoint = start_casper(configuration.model, given, shape, configuration.keyphrase_bias, configuration.chunk)
    if configuration.recompute:
        checkpoint.casper.backbone.network.gradient_checkpointing_enable(  # type: ignore[no-untyped-call]
            {"use_reentrant": False}
        )
    return checkpoint
