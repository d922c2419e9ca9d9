"""Triplets as batches for the anchored head: what the encoder made of queries and papers, hard negatives, and features
by chance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from sciret.encoders.lexical import bm25
from sciret.errors import SettingsError
from sciret.training.anchored import AVERAGE, Positions, idf
from sciret.training.anchored_step import AnchoredBatch, AnchoredStep
from sciret.training.configuration import AnchoredTraining
from sciret.training.corpus import Ints
from sciret.training.losses import quadratic
from sciret.training.prepared import Prepared
from sciret.training.schedule import Schedule, source_weights
from sciret.training.states import Mask, Texts

ABOUT = ("titles", "keyphrases")
"""Sources whose queries name what the paper is about."""
Floats = np.ndarray[Any, np.dtype[np.float32]]


class AnchoredTask:
    """Triplets as batches for AnchoredStep. Every batch is a function of seed and number."""

    def __init__(
        self, step: AnchoredStep, data: Prepared, queries: Texts, papers: Texts, configuration: AnchoredTraining
    ) -> None:
        if len(papers) < 2:
            raise SettingsError("all triplets have one paper: there is no other to tell it from; mine a larger corpus")
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
            tokens=torch.from_numpy(_drawn(self._columns, configuration.chance_columns, chance)),
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
        that could well be answers, being all but the positive. A query that has no other gets its positive, which
        the losses leave out."""
        configuration = self._configuration
        pool = chance.choice(len(self._papers), min(configuration.pool, len(self._papers)), replace=False)
        vectors = self._papers.dense[pool].astype(np.float32)
        own = self._papers.dense[positives].astype(np.float32) @ vectors.T  # [B, pool]
        left_out = (own > configuration.too_close) | (pool[None, :] == positives[:, None])
        places = draw_hard(asked @ vectors.T, left_out, configuration.hardest, configuration.negatives, chance)
        return np.asarray(np.where(places >= 0, pool[places], positives[:, None]).ravel())

    def _read(self, papers: Ints, bare: Mask) -> tuple[list[Ints], list[Any]]:
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
    lengths = papers.sum(axis=1, keepdims=True, dtype=np.float64)
    found = bm25(papers[:, columns].astype(np.float64), lengths / AVERAGE)
    weighed = queries[:, columns] * idf_[columns]
    return np.asarray(weighed @ found.T / weighed.sum(axis=1, keepdims=True).clip(1e-6), np.float32)


def positions_of(states: list[Any]) -> Positions:
    return Positions(
        torch.from_numpy(np.concatenate(states).astype(np.float32)),
        torch.from_numpy(np.repeat(np.arange(len(states)), [len(each) for each in states])),
        len(states),
    )


def draw_hard(scores: Floats, left_out: Mask, hardest: int, count: int, chance: np.random.Generator) -> Ints:
    """For each query places [B, count] in its row of scores [B, P], each among the `hardest` highest that are not left
    out, or among as many as there are; -1 where there is none."""
    kept = np.where(left_out, -np.inf, scores)
    best = np.argsort(-kept, axis=1, kind="stable")[:, :hardest]
    there = (~np.take_along_axis(left_out, best, axis=1)).sum(axis=1, keepdims=True)  # [B, 1]
    drawn = chance.integers(np.maximum(there, 1), size=(len(scores), count))
    return np.asarray(np.where(there > 0, np.take_along_axis(best, drawn, axis=1), -1))


def _drawn(features: Ints, count: int, chance: np.random.Generator) -> Ints:
    """So many of them, or all."""
    return np.asarray(chance.choice(features, min(count, len(features)), replace=False))


def _others(all_: Ints, known: Ints, count: int, chance: np.random.Generator) -> Ints:
    drawn = _drawn(all_, count, chance)
    return np.asarray(drawn[~np.isin(drawn, known)])
