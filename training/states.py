"""What a frozen encoder makes of every training text, computed once: a head on top is then trained in minutes.

The states come from the bundle's own graph, the int8 one where it has one: what is trained on is what will be served.
They are written in parts of some thousand texts, each whole or not there, so a run that was stopped goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from sciret.encoded import Vector
from sciret.encoders.batching import padded
from sciret.encoders.bundle import GRAPHS, Bundle
from sciret.encoders.phrases import PhraseMatcher
from sciret.encoders.session import CPU, SLOW_FUSIONS
from sciret.encoders.text import ModelInput, TextReader
from sciret.errors import BundleError
from sciret.paper import Paper
from sciret.training.corpus import Corpus, Ints

PART = 2_000
"""Texts in a file."""
WORDS = "word_embeddings.weight"
_FUNCTION_WORDS = """
a about above after again against all also although am an and any are as at be because been before being below between
both but by can could did do does doing down during each few for from further had has have having he her here hers him
his how however i if in into is it its itself just may me might more most must my no nor not now of off on once only or
other our ours out over own same she should so some such than that the their theirs them then there these they this
those through to too under until up upon us very was we were what when where which while who whom why will with within
without would you your yours
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Their positions are skipped: they say little, and half of a text's positions cost half of a head's time."""
Mask = npt.NDArray[np.bool_]
Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """One text as the encoder reads it; only the wordpieces that weigh are kept."""

    dense: Vector  # [d]
    pieces: Ints  # [P]
    states: npt.NDArray[np.float16]  # [P, d]
    title: int
    """So many of the pieces are the title's."""
    phrases: Ints  # [Q] numbers of the keyphrases in it, each once


class StateReader:
    """The encoder of a bundle with its last hidden states as one more output."""

    def __init__(self, bundle: Bundle, content: Mask, matcher: PhraseMatcher) -> None:
        self._reader, self._prefix = TextReader(bundle), bundle.query_prefix
        self._content, self._matcher = content, matcher
        graph = onnx.load(str(bundle.path(GRAPHS[bundle.precisions[-1]])))
        norms = [node for node in graph.graph.node if node.op_type == "LayerNormalization"]
        if not norms:
            raise BundleError(f"{bundle.folder}: the graph has no layer norms, so its last states cannot be told")
        self._states = norms[-1].output[0]
        graph.graph.output.append(onnx.helper.make_tensor_value_info(self._states, onnx.TensorProto.FLOAT, None))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            graph.SerializeToString(), options, providers=[CPU], disabled_optimizers=SLOW_FUSIONS["cpu"]
        )

    def paper(self, text: tuple[str, str]) -> Text:
        read = self._reader.read_paper(Paper("paper", *text))
        dense, states = self._run(read)
        kept = self._content[read.ids]
        first = int(np.argmax(read.ids[1:] == read.ids[-1])) + 1  # the separator after the title
        title = int(kept[:first].sum()) if first < len(read.ids) - 1 else 0
        return Text(dense, read.ids[kept], states[kept].astype(np.float16), title, self._phrases(" . ".join(text)))

    def query(self, text: tuple[str, str]) -> Text:
        """The document vector is that of the query with its prefix, the states are those without, as in a search."""
        read = self._reader.read_query(text[0])
        dense, states = self._run(read)
        if self._prefix:
            dense, _ = self._run(self._reader.read_query(text[0], self._prefix))
        kept = self._content[read.ids]
        return Text(dense, read.ids[kept], states[kept].astype(np.float16), 0, self._phrases(text[0]))

    def _run(self, read: ModelInput) -> tuple[Vector, Vector]:
        dense, states = self._session.run(["dense", self._states], padded([read]))
        return dense[0], states[0]  # [d], [L, d]

    def _phrases(self, text: str) -> Ints:
        return np.array(list(self._matcher.count(text)), np.int64)


def word_embeddings(bundle: Bundle) -> Vector:
    """Of the fp32 graph [V, d]."""
    if "fp32" not in bundle.precisions:
        raise BundleError(f"{bundle.folder}: has no fp32 graph to take word embeddings from; export it with both")
    graph = onnx.load(str(bundle.path(GRAPHS["fp32"])))
    for tensor in graph.graph.initializer:
        if tensor.name.endswith(WORDS):
            return np.array(onnx.numpy_helper.to_array(tensor), np.float32)
    raise BundleError(f"{bundle.folder}: its graph has no {WORDS}; sciret export --via torch keeps the name")


class Texts:
    """What was computed of numbered texts; states are mapped into memory."""

    def __init__(self, folder: Path, name: str) -> None:
        paths = sorted(folder.glob(f"{name}-*.npz"))
        parts = [dict(np.load(path)) for path in paths]
        self.dense: npt.NDArray[np.float16] = np.concatenate([part["dense"] for part in parts])  # [T, d]
        self.titles: Ints = np.concatenate([part["titles"] for part in parts])  # [T]
        self._pieces, self._piece_starts = _joined(parts, "pieces", "sizes")
        self._phrases, self._phrase_starts = _joined(parts, "phrases", "phrase_counts")
        self._states = [np.load(path.with_suffix(".npy"), mmap_mode="r") for path in paths]
        self._first = np.cumsum([0, *(len(states) for states in self._states)])

    def __len__(self) -> int:
        return len(self.titles)

    def pieces(self, number: int) -> Ints:
        return self._pieces[self._piece_starts[number] : self._piece_starts[number + 1]]

    def phrases(self, number: int) -> Ints:
        return self._phrases[self._phrase_starts[number] : self._phrase_starts[number + 1]]

    def states(self, number: int) -> npt.NDArray[np.float16]:
        start, end = self._piece_starts[number], self._piece_starts[number + 1]
        part = int(np.searchsorted(self._first, start, side="right")) - 1
        part = min(part, len(self._states) - 1)
        shift = self._first[part]
        found: npt.NDArray[np.float16] = self._states[part][start - shift : end - shift]
        return found  # [P, d]

    def frequencies(self, features: str, size: int) -> Ints:
        """In how many texts each piece or phrase is [size]."""
        starts = self._piece_starts if features == "pieces" else self._phrase_starts
        values = self._pieces if features == "pieces" else self._phrases
        owner = np.repeat(np.arange(len(self)), np.diff(starts))
        return np.bincount(np.unique(owner * size + values) % size, minlength=size)


def compute_texts(
    corpus: Corpus | Sequence[tuple[str, str]],
    read: Callable[[tuple[str, str]], Text],
    folder: Path,
    name: str,
    tell: Callable[[str], None],
) -> Texts:
    """Those that are not there yet are computed, a thread a core."""
    folder.mkdir(parents=True, exist_ok=True)
    cores = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(cores) as pool:
        for first in range(0, len(corpus), PART):
            path = folder / f"{name}-{first // PART:05}.npz"
            if not path.is_file():
                numbers = range(first, min(first + PART, len(corpus)))
                _write(path, list(pool.map(lambda number: read(corpus[number]), numbers)))
                tell(f"{name}: {numbers.stop:,} of {len(corpus):,} encoded")
    return Texts(folder, name)


def _write(path: Path, texts: Sequence[Text]) -> None:
    np.save(path.with_suffix(".npy"), np.concatenate([text.states for text in texts]))
    aside = path.with_name(f".{path.name}")  # no part until it is whole
    np.savez(
        aside,
        dense=np.stack([text.dense for text in texts]).astype(np.float16),
        titles=np.array([text.title for text in texts]),
        pieces=np.concatenate([text.pieces for text in texts]).astype(np.int32),
        sizes=np.array([len(text.pieces) for text in texts]),
        phrases=np.concatenate([text.phrases for text in texts]).astype(np.int32),
        phrase_counts=np.array([len(text.phrases) for text in texts]),
    )
    aside.rename(path)


def _joined(parts: Sequence[Arrays], values: str, counts: str) -> tuple[Ints, Ints]:
    """All values, and where each text's begin."""
    starts = np.cumsum(np.concatenate([[0], *(part[counts] for part in parts)]))
    return np.concatenate([part[values] for part in parts]).astype(np.int64), starts


def content_pieces(pieces: Mapping[str, int]) -> Mask:
    """Which wordpieces weigh [V]: those with a letter or digit that are neither special nor function words."""
    content = np.zeros(max(pieces.values()) + 1, bool)
    for piece, number in pieces.items():
        special = piece.startswith("[") and piece.endswith("]")
        content[number] = (
            not special and piece not in FUNCTION_WORDS and any(c.isalnum() for c in piece.removeprefix("##"))
        )
    return content
