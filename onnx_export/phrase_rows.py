"""What a decoder's row would be for a phrase that it was not trained with.

Two things are known of any phrase: the decoder's own rows of its wordpieces, and how the encoder reads it, alone or
with a description behind it. How trained rows follow from these is learned from the keyphrases that a bundle has, by
ridge regression in closed form, and so are biases and query weights.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from sciret.encoded import Vector
from sciret.encoders.batching import content, padded
from sciret.encoders.bundle import FEATURES, GRAPHS, Bundle, Precision
from sciret.encoders.features import ARRAYS
from sciret.encoders.session import CPU, SLOW_FUSIONS
from sciret.encoders.text import Ints, TextReader
from sciret.errors import SettingsError
from sciret.onnx_export.keyphrase_columns import Columns, Decoder, find_decoder, read_columns
from sciret.paper import Paper

RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e3)
"""Under the last hardly anything is learned, and a row is the mean of its wordpieces' rows."""
HELD_OUT = 5
"""Every so manieth phrase is not fitted to, but tells how well rows are guessed."""
SEED = 20_240_229
Floats = npt.NDArray[np.float64]


class Phrase(NamedTuple):
    text: str
    description: str = ""


class PhraseReader:
    """Phrases to representations, with the graph of a bundle up to where its keyphrase decoder begins."""

    def __init__(self, bundle: Bundle, model: onnx.ModelProto, decoder: Decoder) -> None:
        self._reader = TextReader(bundle)
        self._special = np.array(self._reader.vocabulary.special)
        self._weighs = np.load(bundle.path(FEATURES))[ARRAYS["tokens"]] > 0
        self._words = read_columns(model, find_decoder(model, "tokens", len(self._weighs))).rows  # [V, d]
        self._states = decoder.states
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            _until(model, decoder.states).SerializeToString(),
            options,
            providers=[CPU],
            disabled_optimizers=SLOW_FUSIONS["cpu"],
        )
        self._inputs = [each.name for each in self._session.get_inputs()]

    def pieces(self, text: str) -> Ints:
        """Wordpieces of a phrase that weigh; one that the model cannot read, or that is nothing but function words, is
        refused."""
        read = self._reader.read_paper(Paper("phrase", text))
        inside = read.ids[1:-1]
        if read.truncated or np.isin(inside, self._special).any():
            raise SettingsError(f"{text!r}: the model cannot read all of it; write it in letters that its language has")
        found: Ints = inside[self._weighs[inside]]
        if not len(found):
            raise SettingsError(f"{text!r} has no word that the model gives weight to; a keyphrase needs one")
        return found

    def read(self, phrases: Iterable[Phrase]) -> Floats:
        """Representations [n, 2 d + 1], a thread a core."""
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return np.stack(list(pool.map(self._read, phrases)))

    def _read(self, phrase: Phrase) -> Floats:
        pieces = self.pieces(phrase.text)
        text = [self._reader.read_paper(Paper("phrase", phrase.text, phrase.description))]
        # The phrase comes first, so its positions do, and the rest is read only as what it stands beside.
        inputs = {**padded(text), "content": content(text, self._weighs)[:, : len(pieces)]}
        (states,) = self._session.run([self._states], {name: inputs[name] for name in self._inputs})
        states = states.reshape(len(pieces), -1)  # of one text, whether positions come first or texts
        parts = (_unit(self._words[pieces].mean(axis=0)), _unit(states.mean(axis=0)), [np.log(len(pieces))])
        return np.concatenate(parts)


@dataclass(frozen=True, slots=True, eq=False)
class RowGuess:
    """From representations [n, f] to columns and query weights."""

    mean: Floats  # [f]
    weights: Floats  # [f + 1, d + 2 + v]; the first d of the f are the mean of the wordpieces' rows
    names: tuple[str, ...]  # v
    limits: Floats  # [2, 2 + v] lowest and highest
    cosine: float
    """Of guessed and trained rows, mean over phrases that were left out of the fit."""

    @classmethod
    def fit(cls, read: Floats, columns: Columns, query_weights: Vector) -> RowGuess:
        names = tuple(columns.vectors)
        norms = np.linalg.norm(columns.rows, axis=1)
        numbers = np.stack([norms, query_weights, *(columns.vectors[name] for name in names)], axis=1)  # [n, 2 + v]
        rows = columns.rows / np.maximum(norms, 1e-9)[:, None]
        dims = rows.shape[1]
        # Rows begin as the mean of their wordpieces' in training, so what is learned is how they differ from it.
        targets = np.concatenate([rows - read[:, :dims], numbers], axis=1).astype(np.float64)
        mean = read.mean(axis=0)
        inputs = _with_one(read - mean)
        held = np.arange(len(inputs)) % HELD_OUT == 0

        def cosine(ridge: float) -> float:
            guessed = (inputs[held] @ _solve(inputs[~held], targets[~held], ridge))[:, :dims]
            return float((_unit(read[held, :dims] + guessed) * rows[held]).sum(axis=1).mean())

        cosines = {ridge: cosine(ridge) for ridge in RIDGES}
        best = max(RIDGES, key=lambda ridge: cosines[ridge])
        limits = np.quantile(numbers, [0.01, 0.99], axis=0)
        return cls(mean, _solve(inputs, targets, best), names, limits, cosines[best])

    def columns(self, read: Floats) -> Columns:
        """Rows as long as those of phrases like them, and no number that hardly any keyphrase has."""
        rows, numbers = self._guessed(read)
        vectors = {name: numbers[:, 2 + i].astype(np.float32) for i, name in enumerate(self.names)}
        return Columns((_unit(rows) * numbers[:, :1]).astype(np.float32), vectors)

    def query_weights(self, read: Floats) -> Vector:
        return self._guessed(read)[1][:, 1].astype(np.float32)

    def _guessed(self, read: Floats) -> tuple[Floats, Floats]:
        """Rows [n, d] of any length, and numbers [n, 2 + v]: that length, the weight in a query, and each vector's."""
        guessed = _with_one(read - self.mean) @ self.weights
        count = self.limits.shape[1]
        rows = guessed[:, :-count]
        return read[:, : rows.shape[1]] + rows, guessed[:, -count:].clip(*self.limits)


def learn(bundle: Bundle, keyphrases: Sequence[str], most: int) -> tuple[PhraseReader, Mapping[Precision, RowGuess]]:
    """From at most so many of a bundle's keyphrases, drawn by chance but always the same; a guess for each graph."""
    chosen = np.random.default_rng(SEED).permutation(len(keyphrases))[:most]
    weights = np.load(bundle.path(FEATURES))[ARRAYS["keyphrases"]]
    models = {precision: onnx.load(bundle.path(GRAPHS[precision])) for precision in bundle.precisions}
    decoders = {name: find_decoder(model, "keyphrases", len(keyphrases)) for name, model in models.items()}
    first = bundle.precisions[-1]  # int8 where there is one: it reads in half the time
    reader = PhraseReader(bundle, models[first], decoders[first])
    read = reader.read(Phrase(keyphrases[i]) for i in chosen.tolist())
    columns = {name: read_columns(models[name], decoders[name]).take(chosen) for name in models}
    return reader, {name: RowGuess.fit(read, columns[name], weights[chosen]) for name in models}


def _until(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """What of a graph is needed for one of its values, which becomes the output."""
    cut = onnx.ModelProto()
    cut.CopyFrom(model)
    graph = cut.graph
    needed, nodes = {name}, []
    for node in reversed(model.graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            nodes.append(node)
    del graph.node[:], graph.output[:], graph.value_info[:]
    graph.node.extend(reversed(nodes))
    for values in (graph.initializer, graph.input):
        kept = [value for value in values if value.name in needed]
        del values[:]
        values.extend(kept)
    graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    return cut


def _solve(inputs: Floats, targets: Floats, ridge: float) -> Floats:
    """The last of the inputs is always 1 and not held back: without anything learned, a mean is what is guessed."""
    squares = inputs.T @ inputs
    penalty = np.full(len(squares), ridge * float(np.trace(squares[:-1, :-1])) / (len(squares) - 1))
    penalty[-1] = 0
    return np.linalg.solve(squares + np.diag(penalty), inputs.T @ targets).astype(np.float64)


def _with_one(inputs: Floats) -> Floats:
    return np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1)


def _unit(vectors: npt.NDArray[np.floating]) -> Floats:
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)
    return unit
