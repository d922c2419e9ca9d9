"""Train the anchored head: triplets and a bundle in, a head out that `sciret export` puts on its encoder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
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
    AVERAGE,
    K1,
    AnchoredHead,
    B,
    Occurrences,
    Positions,
    average,
    idf,
    start_phrases,
    start_weights,
    start_words,
)
from sciret.training.anchored_step import AnchoredBatch, AnchoredStep
from sciret.training.casper_folder import DESCRIPTION, FORMAT, KEYPHRASES
from sciret.training.configuration import AnchoredTraining
from sciret.training.corpus import Ints
from sciret.training.losses import quadratic
from sciret.training.prepared import Prepared, prepare
from sciret.training.processes import joined
from sciret.training.run_folder import TRIPLETS, RunFolder, hashes_of
from sciret.training.schedule import Schedule, source_weights
from sciret.training.setup import begin
from sciret.training.states import StateReader, Texts, compute_texts, content_pieces, word_embeddings
from sciret.training.trainer import Outcome, Trainer

KIND = "anchored"
HEAD = "head.safetensors"
FITTED = 100_000
"""Positions that the closed form is fitted to."""
OCCURRENCES = 25_000
"""Papers that keyphrases are looked up in, the longer half first."""
ABOUT = ("titles", "keyphrases")
"""Sources whose queries name what the paper is about."""
OnLine = Callable[[dict[str, Any]], None]
Floats = np.ndarray[Any, np.dtype[np.float32]]


class AnchoredTask:
    """Triplets as batches for AnchoredStep. Every batch is a function of seed and number."""

    def __init__(
        self, step: AnchoredStep, data: Prepared, queries: Texts, papers: Texts, configuration: AnchoredTraining
    ) -> None:
        self.step = step
        self._data, self._queries, self._papers, self._configuration = data, queries, papers, configuration
        weights = source_weights(data, configuration.weights)
        usable = np.array([len(queries.pieces(row)) > 0 for row in range(len(queries))])
        self._about = np.array([name in ABOUT for name in data.names])
        self._bare = np.array([name in configuration.abstracts_only for name in data.names])
        rows = data.rows("train")
        self._schedule = Schedule(rows[usable[rows]], data.sources, weights, configuration.seed)
        rows = data.rows("dev")
        rows = rows[usable[rows] & (weights[data.sources[rows]] > 0)]
        self._dev = np.random.default_rng(configuration.seed).permutation(rows)[: configuration.dev]
        vocabulary, phrases = len(step.head.words), len(step.head.phrases)
        self._idf = idf(papers.frequencies("pieces", vocabulary), len(papers))
        self._columns = np.flatnonzero(step.head.content.cpu().numpy())
        self._phrases = np.arange(phrases)

    def batch(self, number: int) -> AnchoredBatch:
        rows, _ = self._schedule.batch(number, self._configuration.batch)
        return self._made(rows, np.random.default_rng([self._configuration.seed, number]))

    def held_out(self) -> Iterator[AnchoredBatch]:
        size = min(self._configuration.batch, len(self._dev))
        for first in range(0, len(self._dev) - size + 1, max(1, size)) if size else ():
            rows = self._dev[first : first + size]
            yield self._made(rows, np.random.default_rng([self._configuration.seed, 0, first]))

    def share(self, step: int) -> float:
        return quadratic(step, self._configuration.flops_steps)

    def _made(self, rows: Ints, chance: np.random.Generator) -> AnchoredBatch:
        data, configuration, vocabulary = self._data, self._configuration, len(self._idf)
        positives = data.positives[rows].astype(np.int64)
        asked = self._queries.dense[rows].astype(np.float32)  # [B, d]
        papers = np.concatenate([positives, self._negatives(asked, positives, chance)])  # [D]
        dense = asked @ self._papers.dense[papers].astype(np.float32).T  # [B, D]
        bare = np.concatenate([self._bare[data.sources[rows]], np.zeros(len(papers) - len(rows), bool)])
        pieces, states = self._read(papers, bare)
        query_counts = count_features([self._queries.pieces(int(row)) for row in rows], vocabulary)  # [B, V]
        counts = count_features(pieces, vocabulary)  # [D, V]
        named, phrases = self._named(rows)
        phrases = np.concatenate([phrases, _others(self._phrases, phrases, configuration.chance_columns // 2, chance)])
        lambda_ = configuration.lambda_
        teacher = lambda_ * dense + (1 - lambda_) * _by_words(query_counts, counts, self._idf)
        return AnchoredBatch(
            positions_of([self._queries.states(int(row)) for row in rows]),
            positions_of(states),
            papers=torch.from_numpy(papers),
            query_counts=torch.from_numpy(query_counts),
            counts=torch.from_numpy(counts),
            tokens=torch.from_numpy(chance.choice(self._columns, configuration.chance_columns, replace=False)),
            phrases=torch.from_numpy(phrases),
            named=torch.from_numpy(np.pad(named, ((0, 0), (0, len(phrases) - named.shape[1])))),
            dense=torch.from_numpy(dense),
            teacher=torch.from_numpy(teacher.astype(np.float32)),
            weights=torch.from_numpy(np.array(data.weights[rows], np.float32)),
        )

    def _named(self, rows: Ints) -> tuple[Floats, Ints]:
        """Which keyphrases [Q] each query [B, Q] names, if its source says what papers are about."""
        about = self._about[self._data.sources[rows]]
        named = zip(rows.tolist(), about.tolist(), strict=True)
        texts = [np.unique(self._queries.phrases(row)[: None if of else 0]) for row, of in named]
        phrases = np.unique(np.concatenate(texts))
        return count_features([np.searchsorted(phrases, text) for text in texts], len(phrases)), phrases

    def _negatives(self, asked: Floats, positives: Ints, chance: np.random.Generator) -> Ints:
        """For each query papers [B·N] that its dense vector takes for good ones, among some drawn by chance; not those
        that could well be answers, being all but the positive."""
        configuration = self._configuration
        pool = chance.choice(len(self._papers), min(configuration.pool, len(self._papers)), replace=False)
        vectors = self._papers.dense[pool].astype(np.float32)
        scores = asked @ vectors.T  # [B, pool]
        own = self._papers.dense[positives].astype(np.float32) @ vectors.T
        scores[(own > configuration.too_close) | (pool[None, :] == positives[:, None])] = -1
        best = np.argpartition(-scores, configuration.hardest, axis=1)[:, : configuration.hardest]
        drawn = chance.integers(configuration.hardest, size=(len(positives), configuration.negatives))
        return np.asarray(pool[np.take_along_axis(best, drawn, axis=1)].ravel())

    def _read(self, papers: Ints, bare: np.ndarray[Any, np.dtype[np.bool_]]) -> tuple[list[Ints], list[Any]]:
        """Pieces and states of each paper; of bare ones without their titles."""
        pieces, states = [], []
        for number, is_bare in zip(papers.tolist(), bare.tolist(), strict=True):
            first = int(self._papers.titles[number]) if is_bare else 0
            pieces.append(self._papers.pieces(number)[first:])
            states.append(self._papers.states(number)[first:])
        return pieces, states


def count_features(texts: list[Ints], size: int) -> Floats:
    """How often each text has each feature [n, size]."""
    counts = np.zeros((len(texts), size), np.float32)
    for row, text in enumerate(texts):
        np.add.at(counts[row], text, 1)
    return counts


def _by_words(queries: Floats, papers: Floats, idf_: Floats) -> Floats:
    """BM25 [B, D] as a share of the highest that a query could reach, over the queries' own pieces."""
    columns = np.flatnonzero(queries.any(axis=0))
    lengths = papers.sum(axis=1, keepdims=True)
    found = papers[:, columns]
    found = found / (found + K1 * (1 - B + B * lengths / AVERAGE))
    weighed = queries[:, columns] * idf_[columns]
    return np.asarray(weighed @ found.T / weighed.sum(axis=1, keepdims=True).clip(1e-6), np.float32)


def positions_of(states: list[Any]) -> Positions:
    return Positions(
        torch.from_numpy(np.concatenate(states).astype(np.float32)),
        torch.from_numpy(np.repeat(np.arange(len(states)), [len(each) for each in states])),
        len(states),
    )


def _others(all_: Ints, known: Ints, count: int, chance: np.random.Generator) -> Ints:
    drawn = chance.choice(all_, min(count, len(all_)), replace=False)
    return np.asarray(drawn[~np.isin(drawn, known)])


def train_anchored(
    configuration: AnchoredTraining, out: Path, resume: bool, on_line: OnLine, tell: Callable[[str], None]
) -> Outcome:
    """Everything from files to a head in `out`; with `resume`, from where the run in it stopped."""
    run = RunFolder(out)
    with joined(configuration.device) as processes:
        if processes.world > 1:
            raise SettingsError("a head is trained by one process: it takes minutes")
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
        begin_head(head, papers, keyphrases, tokenizer, configuration)
        begun = deepcopy(head)
        task = AnchoredTask(AnchoredStep(head, configuration), data, queries, papers, configuration)
        outcome = Trainer(task, configuration, run, processes).train(on_line)
        average(head, begun, configuration.average)
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
    save_file({name: tensor.contiguous() for name, tensor in head.state_dict().items()}, aside / HEAD)
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
