"""Train the anchored head: triplets and a bundle in, a head out that `sciret export` puts on its encoder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from sciret.encoders.bundle import TOKENIZER, Bundle, load_bundle
from sciret.encoders.phrases import PhraseMatcher, load_phrases
from sciret.errors import BundleError, SettingsError
from sciret.training.anchored import (
    AnchoredHead,
    Occurrences,
    average,
    idf,
    start_phrases,
    start_weights,
    start_words,
)
from sciret.training.anchored_step import AnchoredStep
from sciret.training.anchored_task import AnchoredTask
from sciret.training.casper_folder import DESCRIPTION, FORMAT, KEYPHRASES
from sciret.training.configuration import AnchoredTraining
from sciret.training.prepared import prepare
from sciret.training.processes import joined, launched
from sciret.training.run_folder import TRIPLETS, RunFolder, hashes_of
from sciret.training.setup import begin
from sciret.training.states import StateReader, Texts, compute_texts, content_pieces, word_embeddings
from sciret.training.trainer import Outcome, Trainer

KIND = "anchored"
HEAD = "head.safetensors"
BEGUN = "begun.safetensors"
"""The closed form, in the run's data: the result is averaged with it, and a run that goes on must not compute it anew.
Another number of threads, or another library, would round otherwise."""
FITTED = 100_000
"""Positions that the closed form is fitted to."""
OCCURRENCES = 25_000
"""Papers that keyphrases are looked up in, the longer half first."""
OnLine = Callable[[dict[str, Any]], None]


def train_anchored(
    configuration: AnchoredTraining, out: Path, resume: bool, on_line: OnLine, tell: Callable[[str], None]
) -> Outcome:
    """Everything from files to a head in `out`; with `resume`, from where the run in it stopped."""
    run = RunFolder(out)
    if launched() > 1:
        raise SettingsError("a head is trained by one process: start `sciret train anchored` without torchrun")
    with joined(configuration.device) as processes:
        hashes = hashes_of(configuration, configuration.triplets)
        begin(run, KIND, configuration, hashes, processes.world, resume)
        data = prepare(Path(configuration.triplets), [Path(p) for p in configuration.papers], run.data / TRIPLETS)
        bundle = load_bundle(configuration.model)
        keyphrases = load_phrases(Path(configuration.keyphrases))
        tokenizer = Tokenizer.from_file(str(bundle.path(TOKENIZER)))
        content = content_pieces(tokenizer.get_vocab())
        reader = StateReader(bundle, content, PhraseMatcher(keyphrases))
        states = Path(configuration.states) if configuration.states else run.data / "states"
        queries = compute_texts(data.queries, reader.query, states, "queries", tell)
        papers = compute_texts(data.papers, reader.paper, states, "papers", tell)
        torch.manual_seed(configuration.seed)
        head = make_head(bundle, content, len(keyphrases), configuration)
        if (run.data / BEGUN).is_file():
            head.load_state_dict(load_file(run.data / BEGUN))
        else:
            begin_head(head, papers, keyphrases, tokenizer, configuration)
            keep_begun(head, run.data / BEGUN)
        begun = deepcopy(head)
        task = AnchoredTask(AnchoredStep(head, configuration), data, queries, papers, configuration)
        in_fp32 = replace(configuration, precision="fp32")  # auto would be bf16 on a GPU
        outcome = Trainer(task, in_fp32, run, processes).train(on_line)
        average(head.cpu(), begun, configuration.average)
        save_head(run, head, bundle, keyphrases, configuration)
    return outcome


def make_head(bundle: Bundle, content: Any, keyphrases: int, configuration: AnchoredTraining) -> AnchoredHead:
    words = torch.from_numpy(word_embeddings(bundle))
    return AnchoredHead(
        words, torch.from_numpy(content), keyphrases, configuration.hidden, configuration.keyphrase_pooling
    )


def begin_head(
    head: AnchoredHead, papers: Texts, keyphrases: list[str], tokenizer: Tokenizer, configuration: AnchoredTraining
) -> None:
    """The closed form: where training starts from, and good already."""
    read = [tokenizer.encode(phrase, add_special_tokens=False).ids for phrase in keyphrases]
    content = head.content.numpy()
    read = [[piece for piece in pieces if content[piece]] or pieces for pieces in read]
    if not all(read):
        missing = keyphrases[read.index([])]
        raise SettingsError(f"the keyphrase {missing!r} has nothing that the tokenizer reads; remove it")
    order = np.random.default_rng(configuration.seed).permutation(len(papers))
    sizes = np.array([len(papers.pieces(int(number))) for number in order])
    chosen = order[: max(1, int(np.searchsorted(np.cumsum(sizes), FITTED)))].tolist()
    pieces = np.concatenate([papers.pieces(number) for number in chosen])
    states = np.concatenate([papers.states(number) for number in chosen]).astype(np.float32)
    start_words(head, states, pieces.tolist())
    full = order[sizes >= np.median(sizes)][:OCCURRENCES].tolist()
    sums, counts = np.zeros((len(keyphrases), states.shape[1])), np.zeros(len(keyphrases), np.int64)
    for number in full:
        _add_occurrences(papers, number, read, sums, counts)
    start_phrases(head, states, Occurrences(sums, counts, pieces), read)
    start_weights(
        head,
        idf(papers.frequencies("pieces", len(head.words)), len(papers)),
        idf(papers.frequencies("phrases", len(keyphrases)), len(papers)),
    )


def keep_begun(head: AnchoredHead, path: Path) -> None:
    """Whole or not at all."""
    aside = path.with_name(f".{path.name}")
    save_weights(head, aside)
    aside.rename(path)


def save_weights(head: AnchoredHead, path: Path) -> None:
    save_file({name: tensor.contiguous() for name, tensor in head.state_dict().items()}, path)


def _add_occurrences(papers: Texts, number: int, read: list[list[int]], sums: Any, counts: Any) -> None:
    """A keyphrase stands where its pieces follow one another."""
    text = papers.pieces(number)
    places: list[int] = []
    phrases: list[int] = []
    for phrase in np.unique(papers.phrases(number)).tolist():
        wanted = read[phrase]
        for first in np.flatnonzero(text[: len(text) - len(wanted) + 1] == wanted[0]).tolist():
            if text[first : first + len(wanted)].tolist() == wanted:
                places.extend(range(first, first + len(wanted)))
                phrases.extend([phrase] * len(wanted))
    if places:
        np.add.at(sums, phrases, papers.states(number)[places].astype(np.float64))
        np.add.at(counts, phrases, 1)


def save_head(
    run: RunFolder, head: AnchoredHead, bundle: Bundle, keyphrases: list[str], configuration: AnchoredTraining
) -> None:
    """Whole or not at all."""
    if run.model.exists():
        return
    aside = run.model.with_name(f".{run.model.name}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    save_weights(head, aside / HEAD)
    (aside / KEYPHRASES).write_text("".join(f"{phrase}\n" for phrase in keyphrases), encoding="utf-8")
    description = {
        "format": FORMAT,
        "kind": KIND,
        "pooling": head.pooling,
        "hidden": head.widen.out_features,
        "beta": configuration.beta,
        "mass": configuration.mass,
        "query_features": configuration.query_features,
        "tokenizer": bundle.files[TOKENIZER],
        "provenance": {"kind": KIND, "bundle": bundle.name, **run.provenance(KIND)},
    }
    (aside / DESCRIPTION).write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    aside.rename(run.model)


def open_head(folder: Path) -> tuple[AnchoredHead, list[str], dict[str, Any]]:
    """The head, its keyphrases and its description."""
    description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    tensors = load_file(folder / HEAD)
    if description.get("kind") != KIND:
        raise BundleError(f"{folder}: a {description.get('kind')!r}, not an anchored head")
    head = AnchoredHead(
        tensors["words"], tensors["content"], len(tensors["phrases"]), description["hidden"], description["pooling"]
    )
    head.load_state_dict(tensors)
    return head, load_phrases(folder / KEYPHRASES), description
