"""Continual pretraining of a language model on papers, so that its keyphrase rows mean what their phrases mean."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast

from sciret.encoders.phrases import PhraseMatcher
from sciret.errors import SettingsError
from sciret.training.casper import Shape
from sciret.training.configuration import MaskedTraining
from sciret.training.corpus import Corpus, Ints, text_of, write_corpus
from sciret.training.masked import MaskedBatch, MaskedStep
from sciret.training.masking import NOTHING, Masked, Shares, hide, occurrences
from sciret.training.mining import open_papers
from sciret.training.processes import Processes, joined
from sciret.training.reading import Reader, Texts
from sciret.training.run_folder import RunFolder, hashes_of
from sciret.training.setup import begin, finish, fit_if_headless, load_model
from sciret.training.trainer import Outcome, Trainer

KIND = "mlm"
OnLine = Callable[[dict[str, Any]], None]


class MaskedTask:
    """Papers as batches for MaskedStep. Every pass hides other words and phrases; held-out papers always the same."""

    def __init__(
        self,
        step: MaskedStep,
        papers: Corpus,
        tokenizer: PreTrainedTokenizerFast,
        matcher: PhraseMatcher,
        configuration: MaskedTraining,
        processes: Processes,
    ) -> None:
        self.step = step
        self._papers, self._matcher, self._configuration, self._processes = papers, matcher, configuration, processes
        self._reader = Reader(tokenizer, configuration.length, configuration.length)
        self._mask, self._padding = int(tokenizer.mask_token_id), int(tokenizer.pad_token_id)
        self._vocabulary = step.casper.backbone.decoder.out_features
        self._shares = Shares(configuration.phrases_masked, configuration.visible, configuration.words_masked)
        order = np.random.default_rng(configuration.seed).permutation(len(papers))
        held_out = min(configuration.dev, len(order) // 10)
        self._dev, self._train = order[:held_out], order[held_out:]
        self._pass = (-1, self._train)

    def batch(self, number: int) -> MaskedBatch:
        size, rank = self._configuration.batch, self._processes.rank
        whole = size * self._processes.world
        batches = len(self._train) // whole
        if not batches:
            raise SettingsError(f"{len(self._train)} papers to train on are fewer than one batch of {whole}")
        passed, place = divmod(number, batches)
        if self._pass[0] != passed:
            generator = np.random.default_rng([self._configuration.seed, passed])
            self._pass = (passed, generator.permutation(self._train))
        first = place * whole + rank * size
        return self._read(self._pass[1][first : first + size], passed + 1)

    def held_out(self) -> Iterator[MaskedBatch]:
        world, rank = self._processes.world, self._processes.rank
        size = min(self._configuration.batch, len(self._dev) // world)
        for first in range(0, len(self._dev) - size * world + 1, max(1, size * world)) if size else ():
            yield self._read(self._dev[first + rank * size : first + (rank + 1) * size], 0)

    def share(self, step: int) -> float:  # noqa: ARG002 (nothing is regularised)
        return 0.0

    def _read(self, numbers: Ints, passed: int) -> MaskedBatch:
        # In the composed form, which is what the places of matches refer to.
        texts = [(normal(title), normal(abstract)) for title, abstract in self._papers.take(numbers)]
        original, masked = [], []
        for text, encoding, number in zip(texts, self._reader.encode(texts), numbers.tolist(), strict=True):
            ids = np.array(encoding.ids, dtype=np.int64)
            content = np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)
            read = self._reader.input(*text)
            found = occurrences(encoding, [read] if isinstance(read, str) else read, self._matcher)
            generator = np.random.default_rng([self._configuration.seed, passed, number])
            masked.append(hide(ids, content, found, self._shares, self._mask, self._vocabulary, generator))
            original.append(ids)
        return self._batch(original, masked)

    def _batch(self, original: list[Ints], masked: list[Masked]) -> MaskedBatch:
        def padded(rows: list[Ints], filling: int) -> torch.Tensor:
            made = torch.full((len(rows), max(map(len, rows))), filling)
            for number, row in enumerate(rows):
                made[number, : len(row)] = torch.from_numpy(row)
            return made

        mask = padded([np.ones_like(ids) for ids in original], 0)
        return MaskedBatch(
            Texts(padded([m.ids for m in masked], self._padding), mask),
            padded(original, self._padding),
            padded([m.words for m in masked], NOTHING),
            padded([m.phrases for m in masked], NOTHING),
        )


def train_mlm(configuration: MaskedTraining, out: Path, resume: bool, on_line: OnLine) -> Outcome:
    """Everything from files of papers to a checkpoint in `out` that `train_casper` starts from."""
    run = RunFolder(out)
    with joined(configuration.device) as processes:
        if processes.leads:
            begin(run, KIND, configuration, hashes_of(configuration), processes.world, resume)
            prepare_papers(configuration, run.data)
        processes.wait()
        papers = Corpus(run.data, "papers")
        torch.manual_seed(configuration.seed)
        checkpoint = load_model(configuration, Shape(), configuration.length)
        checkpoint.casper.to(processes.device)
        if checkpoint.tokenizer.mask_token_id is None:
            raise SettingsError(f"{configuration.model}: its tokenizer has no mask token; give a masked language model")
        if not run.has_checkpoint:
            reader = Reader(checkpoint.tokenizer, configuration.length, configuration.length)
            fit_if_headless(checkpoint, papers, reader, configuration.seed)
        step, matcher = MaskedStep(checkpoint.casper), PhraseMatcher(checkpoint.keyphrases)
        task = MaskedTask(step, papers, checkpoint.tokenizer, matcher, configuration, processes)
        torch.manual_seed(configuration.seed + processes.rank)  # dropout differs between processes
        outcome = Trainer(task, configuration, run, processes).train(on_line)
        if processes.leads:
            finish(run, KIND, checkpoint)
        processes.wait()
    return outcome


def prepare_papers(configuration: MaskedTraining, folder: Path) -> None:
    """The open papers of all files; those that a run has already are the same, since the files are."""
    if not (folder / "papers.npy").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_corpus(folder, "papers", (text_of(paper) for file in configuration.papers for paper in open_papers(file)))


def normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)
