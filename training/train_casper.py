"""Train CASPER on triplets: from a language model, a pretraining run or an earlier CASPER to a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sciret.encoders.encoder import Encoder
from sciret.errors import SettingsError
from sciret.training.casper import level_rows
from sciret.training.casper_folder import Checkpoint
from sciret.training.configuration import CasperTraining
from sciret.training.contrastive import Batch, ContrastiveStep
from sciret.training.losses import quadratic
from sciret.training.prepared import Prepared, open_prepared, prepare
from sciret.training.processes import Processes, joined
from sciret.training.reading import Reader
from sciret.training.run_folder import TRIPLETS, RunFolder, hashes_of
from sciret.training.schedule import Drawn, Schedule, draw, source_weights
from sciret.training.setup import begin, finish, fit_if_headless, load_model
from sciret.training.teachers import KINDS, CrossEncoder, DenseTeacher, GivenScores, Teacher, encode_for_teacher
from sciret.training.trainer import Outcome, Trainer

KIND = "casper"
SAMPLE = 64
"""Queries that biases are chosen by."""
OnLine = Callable[[dict[str, Any]], None]


class CasperTask:
    """Triplets as batches for ContrastiveStep."""

    def __init__(
        self,
        step: ContrastiveStep,
        data: Prepared,
        reader: Reader,
        configuration: CasperTraining,
        processes: Processes,
        teacher: Teacher | None,
    ) -> None:
        self.step = step
        self._data, self._reader, self._configuration = data, reader, configuration
        self._processes, self._teacher = processes, teacher
        weights = source_weights(data, configuration.weights)
        self._bare = np.array([name in configuration.abstracts_only for name in data.names])
        self._schedule = Schedule(data.rows("train"), data.sources, weights, configuration.seed)
        rows = data.rows("dev")
        rows = np.random.default_rng(configuration.seed).permutation(rows[weights[data.sources[rows]] > 0])
        self._dev = rows[: configuration.dev]

    def batch(self, number: int) -> Batch:
        size, rank = self._configuration.batch, self._processes.rank
        rows, passed = self._schedule.batch(number, size * self._processes.world)
        own = rows[rank * size : (rank + 1) * size]
        return self._read(draw(self._data, own, self._configuration.negatives, self._configuration.seed, passed))

    def held_out(self) -> Iterator[Batch]:
        """Batches as large as in training, or one smaller; what is left over is not used."""
        world, rank = self._processes.world, self._processes.rank
        size = min(self._configuration.batch, len(self._dev) // world)
        for first in range(0, len(self._dev) - size * world + 1, max(1, size * world)) if size else ():
            own = self._dev[first + rank * size : first + (rank + 1) * size]
            yield self._read(draw(self._data, own, self._configuration.negatives, self._configuration.seed, 0))

    def share(self, step: int) -> float:
        return quadratic(step, self._configuration.flops_steps)

    def _read(self, drawn: Drawn) -> Batch:
        papers = np.concatenate([drawn.positives, drawn.negatives.ravel()])  # [B + B·N]
        bare = self._bare[self._data.sources[drawn.rows]]  # [B]
        bare = np.concatenate([bare, np.repeat(bare, drawn.negatives.shape[1])])  # [B + B·N]
        texts = self._data.papers.take(papers)
        scores = self._teacher.scores(drawn) if self._teacher else drawn.scores
        return Batch(
            self._reader.queries([query for query, _ in self._data.queries.take(drawn.rows)]),
            self._reader.papers([("", t[1]) if b and t[1] else t for t, b in zip(texts, bare, strict=True)]),
            torch.from_numpy(papers),
            torch.from_numpy(np.array(drawn.weights)),
            torch.from_numpy(scores),
        )


def train_casper(configuration: CasperTraining, out: Path, resume: bool, on_line: OnLine) -> Outcome:
    """Everything from files to a checkpoint in `out`; with `resume`, from where the run in it stopped."""
    run = RunFolder(out)
    with joined(configuration.device) as processes:
        if processes.leads:
            begin(run, KIND, configuration, hashes_of(configuration, configuration.triplets), processes.world, resume)
            prepare(Path(configuration.triplets), [Path(p) for p in configuration.papers], run.data / TRIPLETS)
        processes.wait()
        data = open_prepared(run.data / TRIPLETS)
        torch.manual_seed(configuration.seed)
        checkpoint = load_model(
            configuration, configuration.shape, max(configuration.query_length, configuration.document_length)
        )
        checkpoint.casper.to(processes.device)
        reader = Reader(checkpoint.tokenizer, configuration.query_length, configuration.document_length)
        if not run.has_checkpoint:
            fit_if_headless(checkpoint, data.papers, reader, configuration.seed)
            level(checkpoint, data, reader, configuration)
        teacher = open_teacher(configuration, data, run, processes)
        step = ContrastiveStep(checkpoint.casper, configuration)
        task = CasperTask(step, data, reader, configuration, processes, teacher)
        torch.manual_seed(configuration.seed + processes.rank)  # dropout differs between processes
        outcome = Trainer(task, configuration, run, processes).train(on_line)
        if processes.leads:
            finish(run, KIND, checkpoint)
        processes.wait()
    return outcome


def level(checkpoint: Checkpoint, data: Prepared, reader: Reader, configuration: CasperTraining) -> None:
    """Make keyphrases as rare as asked for, unless they were trained to be. Measured on queries, the shorter side."""
    if checkpoint.provenance.get("kind") != KIND:
        casper = checkpoint.casper.eval()
        rows = np.random.default_rng(configuration.seed).permutation(data.rows("train"))[:SAMPLE]
        sample = reader.queries([query for query, _ in data.queries.take(rows)]).to(casper.special.device)
        level_rows(casper, sample.ids, sample.mask, configuration.active_keyphrases)


def open_teacher(configuration: CasperTraining, data: Prepared, run: RunFolder, processes: Processes) -> Teacher | None:
    if configuration.distillation == "none":
        return None
    kind, _, name = configuration.teacher.partition(":")
    if kind == "triplets":
        return GivenScores(data)
    if kind == "cross-encoder" and name:
        return CrossEncoder(name, data, processes.device, configuration.query_length + configuration.document_length)
    if kind == "bundle" and name:
        folder = run.data / "teacher"
        if processes.leads and not (folder / "papers.npy").is_file():
            encode_for_teacher(data, Encoder.open(name), folder)
        processes.wait()
        return DenseTeacher(folder)
    raise SettingsError(f"teacher {configuration.teacher!r}: there are {KINDS}")
