"""Beginning and end of every run: the model it starts from, the folder's description, the result."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from sciret.encoders.phrases import load_phrases
from sciret.errors import SettingsError
from sciret.training.backbone import FittedEncoder, longest
from sciret.training.casper import Shape
from sciret.training.casper_folder import (
    Checkpoint,
    casper_folder,
    open_casper,
    save_casper,
    start_casper,
)
from sciret.training.configuration import NetworkTraining, Training
from sciret.training.corpus import Corpus
from sciret.training.fitting import fit_head
from sciret.training.reading import Reader
from sciret.training.run_folder import RunFolder

FITTED = 2_048
"""Papers that the head of an encoder without one is fitted to."""
PART = 64


def begin(
    run: RunFolder, kind: str, configuration: Training, hashes: Mapping[str, str], world: int, resume: bool
) -> None:
    """Describe a new run, or make sure that the one in the folder can be gone on with."""
    if resume:
        run.check_data(kind, hashes)
    else:
        run.clear()
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


def load_model(configuration: NetworkTraining, shape: Shape, length: int) -> Checkpoint:
    """A CASPER checkpoint as it is, or a language model with keyphrase rows put to it, that reads `length` tokens."""
    given = tuple(load_phrases(Path(configuration.keyphrases))) if configuration.keyphrases else None
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
    room = longest(checkpoint.casper.backbone.network)
    if room is not None and length > room:
        raise SettingsError(f"{configuration.model} reads at most {room} tokens, not {length}; take shorter texts")
    if configuration.recompute:
        checkpoint.casper.backbone.network.gradient_checkpointing_enable(  # type: ignore[no-untyped-call]
            {"use_reentrant": False}
        )
    return checkpoint


def fit_if_headless(checkpoint: Checkpoint, papers: Corpus, reader: Reader, seed: int) -> None:
    """Give an encoder that was pretrained without a head the one that closed form finds."""
    casper = checkpoint.casper.eval()
    if checkpoint.fresh and isinstance(casper.backbone, FittedEncoder):
        order = np.random.default_rng(seed).permutation(len(papers))[:FITTED]
        parts = (order[first : first + PART] for first in range(0, len(order), PART))
        fit_head(
            casper.backbone, (reader.papers(papers.take(p)).to(casper.special.device) for p in parts), casper.special
        )
