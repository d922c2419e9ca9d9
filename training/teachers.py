"""Teachers for knowledge distillation: scores of queries with their positives and hard negatives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerFast

from sciret.encoded import Vector
from sciret.encoders.encoder import Encoder
from sciret.errors import SettingsError
from sciret.paper import Paper
from sciret.training.backbone import explained, load_tokenizer, quiet
from sciret.training.corpus import Corpus
from sciret.training.prepared import Prepared
from sciret.training.schedule import Drawn

Scores = npt.NDArray[np.float32]  # [B, 1 + N]
KINDS = "triplets, bundle:NAME, cross-encoder:NAME"


class Teacher(Protocol):
    def scores(self, drawn: Drawn) -> Scores:
        """Of each query with its positive and its negatives [B, 1 + N]; NaN where it does not say."""


class GivenScores:
    """Those that stand in the file of triplets."""

    def __init__(self, data: Prepared) -> None:
        if np.isnan(data.scores).all():
            raise SettingsError(
                f"teacher triplets: no line of the triplets has scores; take another teacher ({KINDS}) "
                f"or --set distillation=none"
            )

    def scores(self, drawn: Drawn) -> Scores:
        return drawn.scores


class DenseTeacher:
    """Cosines of a dense bundle. Every text is encoded once, before training; a score is then a product."""

    def __init__(self, folder: Path) -> None:
        self._queries: Vector = np.load(folder / "queries.npy", mmap_mode="r")  # [R, d]
        self._papers: Vector = np.load(folder / "papers.npy", mmap_mode="r")  # [P, d]

    def scores(self, drawn: Drawn) -> Scores:
        documents = np.concatenate([drawn.positives[:, None], drawn.negatives], axis=1)  # [B, 1 + N]
        queries = self._queries[drawn.rows].astype(np.float32)
        found: Scores = np.einsum("bd,bnd->bn", queries, self._papers[documents].astype(np.float32))
        return found


def encode_for_teacher(data: Prepared, encoder: Encoder, folder: Path) -> None:
    """Vectors of all queries and papers, in fp16."""
    folder.mkdir(parents=True, exist_ok=True)
    dims = encoder.bundle.dims
    queries = (encoder.encode_query(text).dense for text, _ in _texts(data.queries))
    _write(folder / "queries.npy", queries, len(data.queries), dims)
    papers = (Paper(str(number), title, abstract) for number, (title, abstract) in enumerate(_texts(data.papers)))
    _write(folder / "papers.npy", (e.dense for e in encoder.encode_papers(papers)), len(data.papers), dims)


def _texts(corpus: Corpus) -> Iterator[tuple[str, str]]:
    return (corpus[number] for number in range(len(corpus)))


def _write(path: Path, vectors: Iterable[Vector | None], count: int, dims: int) -> None:
    """Under its name only once it is whole."""
    aside = path.with_suffix(".part")
    rows = np.lib.format.open_memmap(aside, mode="w+", dtype=np.float16, shape=(count, dims))
    for number, vector in enumerate(vectors):
        if vector is None:
            raise SettingsError("the teacher's bundle gives no document vectors; take a dense one")
        rows[number] = vector
    rows.flush()
    aside.rename(path)


class CrossEncoder:
    """Reads query and paper together; run with every batch, since it would score each pair anew anyway."""

    def __init__(self, name: str, data: Prepared, device: torch.device, length: int) -> None:
        with explained(name), quiet():
            self._network = AutoModelForSequenceClassification.from_pretrained(name, dtype=torch.float32)
        self._tokenizer: PreTrainedTokenizerFast = load_tokenizer(name)
        if self._network.config.num_labels not in (1, 2):
            labels = self._network.config.num_labels
            raise SettingsError(f"{name}: {labels} classes; a cross-encoder that scores relevance has 1 or 2")
        self._network.to(device).eval()
        self._data, self._device, self._length = data, device, length

    @torch.no_grad()
    def scores(self, drawn: Drawn) -> Scores:
        documents = np.concatenate([drawn.positives[:, None], drawn.negatives], axis=1)  # [B, 1 + N]
        queries = [self._data.queries[int(row)][0] for row in np.repeat(drawn.rows, documents.shape[1])]
        papers = [" ".join(filter(None, text)) for text in self._data.papers.take(documents.ravel())]
        inputs = self._tokenizer(
            queries, papers, padding=True, truncation=True, max_length=self._length, return_tensors="pt"
        ).to(self._device)
        logits = self._network(**inputs).logits.float()  # [B·(1 + N), classes]
        odds = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
        found: Scores = odds.cpu().numpy().reshape(documents.shape)
        return found
