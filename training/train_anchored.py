"""Train the anchored head: triplets and a bundle in, a head out that `sciret export` puts on its encoder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
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
    Positions,
    idf,
    level_phrases,
    start,
    start_weights,
)
from sciret.training.anchored_step import AnchoredBatch, AnchoredStep
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
LEVELLED = 64
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
        self._phrase_count = phrases

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
        data, configuration = self._data, self._configuration
        positives = data.positives[rows].astype(np.int64)
        asked = self._queries.dense[rows].astype(np.float32)  # [B, d]
        papers = np.concatenate([positives, self._negatives(asked, positives, chance)])  # [D]
        dense = asked @ self._papers.dense[papers].astype(np.float32).T  # [B, D]
        bare = np.concatenate([self._bare[data.sources[rows]], np.zeros(len(papers) - len(rows), bool)])
        pieces, states = self._read(papers, bare)
        counts, tokens = _counted([self._queries.pieces(int(row)) for row in rows], len(self._idf))
        found, phrases = _counted([self._queries.phrases(int(row)) for row in rows], self._phrase_count)
        known = counts.shape[1]
        tokens = np.concatenate([tokens, _others(self._columns, tokens, configuration.chance_columns, chance)])
        every = np.arange(self._phrase_count)
        phrases = np.concatenate([phrases, _others(every, phrases, configuration.chance_columns // 2, chance)])
        anchors = _anchors(pieces, tokens, known)
        counts = np.pad(counts, ((0, 0), (0, len(tokens) - known)))
        weighed = counts[:, :known] * self._idf[tokens[:known]]
        by_words = weighed @ anchors[:, :known].T / weighed.sum(axis=1, keepdims=True).clip(1e-6)  # [B, D]
        lambda_ = configuration.lambda_
        return AnchoredBatch(
            Positions(
                torch.from_numpy(np.concatenate(states).astype(np.float32)),
                torch.from_numpy(np.repeat(np.arange(len(papers)), [len(each) for each in states])),
                len(papers),
            ),
            papers=torch.from_numpy(papers),
            tokens=torch.from_numpy(tokens),
            phrases=torch.from_numpy(phrases),
            query_counts=torch.from_numpy(counts),
            query_phrases=torch.from_numpy(np.pad(found.clip(max=1), ((0, 0), (0, len(phrases) - found.shape[1])))),
            anchors=torch.from_numpy(anchors),
            dense=torch.from_numpy(dense),
            teacher=torch.from_numpy((lambda_ * dense + (1 - lambda_) * by_words).astype(np.float32)),
            weights=torch.from_numpy(np.array(data.weights[rows], np.float32)),
            labels=torch.from_numpy(self._about[data.sources[rows]]),
        )

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


def _counted(texts: list[Ints], size: int) -> tuple[Floats, Ints]:
    """How often each text has each feature [B, F], and which features they are [F]."""
    features = np.unique(np.concatenate(texts))
    places = np.full(size, -1)
    places[features] = np.arange(len(features))
    counts = np.zeros((len(texts), len(features)), np.float32)
    for row, text in enumerate(texts):
        np.add.at(counts[row], places[text], 1)
    return counts, features


def _others(all_: Ints, known: Ints, count: int, chance: np.random.Generator) -> Ints:
    drawn = chance.choice(all_, min(count, len(all_)), replace=False)
    return np.asarray(drawn[~np.isin(drawn, known)])


def _anchors(pieces: list[Ints], tokens: Ints, known: int) -> Floats:
    """Saturated counts [D, T]; those of columns drawn by chance do not matter and stay 0."""
    places = np.full(int(tokens.max()) + 1, -1)
    places[tokens[:known]] = np.arange(known)
    found = np.zeros((len(pieces), len(tokens)), np.float32)
    for row, each in enumerate(pieces):
        inside = each[each < len(places)]
        at = places[inside]
        np.add.at(found[row], at[at >= 0], 1)
        found[row] /= found[row] + K1 * (1 - B + B * len(each) / AVERAGE)
    return found


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
        if not run.has_checkpoint:
            begin_head(head, papers, keyphrases, tokenizer, configuration)
        task = AnchoredTask(AnchoredStep(head, configuration.objective), data, queries, papers, configuration)
        outcome = Trainer(task, configuration, run, processes).train(on_line)
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
    order = np.random.default_rng(configuration.seed).permutation(len(papers)).tolist()
    chosen, size = [], 0
    while size < FITTED and order:
        chosen.append(order.pop())
        size += len(papers.pieces(chosen[-1]))
    pieces = np.concatenate([papers.pieces(number) for number in chosen])
    states = np.concatenate([papers.states(number) for number in chosen]).astype(np.float32)
    start(head, states, pieces.tolist(), keyphrases, tokenizer)
    start_weights(
        head,
        idf(papers.frequencies("pieces", len(head.words)), len(papers)),
        idf(papers.frequencies("phrases", len(keyphrases)), len(papers)),
    )
    some = chosen[:LEVELLED]
    sizes = [len(papers.pieces(number)) for number in some]
    positions = Positions(
        torch.from_numpy(np.concatenate([papers.states(number) for number in some]).astype(np.float32)),
        torch.from_numpy(np.repeat(np.arange(len(some)), sizes)),
        len(some),
    )
    level_phrases(head, positions, configuration.active_keyphrases)


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
    (aside / "keyphrases.txt").write_text("".join(f"{phrase}\n" for phrase in keyphrases), encoding="utf-8")
    description = {
        "format": 1,
        "kind": KIND,
        "pooling": head.pooling,
        "hidden": head.widen.out_features,
        "beta": configuration.beta,
        "mass": configuration.mass,
        "query_features": configuration.query_features,
        "tokenizer": bundle.files[TOKENIZER],
        "provenance": {"kind": KIND, "bundle": bundle.name, **run.provenance(KIND)},
    }
    (aside / "casper.json").write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    aside.rename(run.model)


def open_head(folder: Path) -> tuple[AnchoredHead, list[str], dict[str, Any]]:
    """The head, its keyphrases and its description."""
    description = json.loads((folder / "casper.json").read_text(encoding="utf-8"))
    tensors = load_file(folder / HEAD)
    if description.get("kind") != KIND:
        raise BundleError(f"{folder}: a {description.get('kind')!r}, not an anchored head")
    head = AnchoredHead(
        tensors["words"], tensors["content"], len(tensors["phrases"]), description["hidden"], description["pooling"]
    )
    head.load_state_dict(tensors)
    return head, load_phrases(folder / "keyphrases.txt"), description
