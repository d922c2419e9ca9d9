"""Texts on disk by number: one file of all of them and where each begins, mapped into memory.

Training reads texts in random order, for days, from several processes. Ten million abstracts do not fit into each, but
the page cache holds what is used, once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sciret.paper import Paper

Ints: TypeAlias = npt.NDArray[np.int64]

_BETWEEN = "\0"  # between title and abstract; no text that a reader gives has one


class Corpus:
    """Texts that `write_corpus` wrote; each is a title and an abstract, or a query and nothing."""

    def __init__(self, folder: Path, name: str) -> None:
        self.starts: Ints = np.load(folder / f"{name}.npy", mmap_mode="r")  # [T + 1]
        path = folder / f"{name}.bin"
        # An empty file cannot be mapped.
        self._bytes = np.memmap(path, np.uint8, "r") if self.starts[-1] else np.zeros(0, dtype=np.uint8)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> tuple[str, str]:
        title, _, abstract = (
            bytes(self._bytes[self.starts[number] : self.starts[number + 1]]).decode().partition(_BETWEEN)
        )
        return title, abstract

    def take(self, numbers: Sequence[int] | npt.NDArray[np.integer[Any]]) -> list[tuple[str, str]]:
        return [self[int(number)] for number in numbers]


def write_corpus(folder: Path, name: str, texts: Iterable[tuple[str, str]]) -> None:
    """Title and abstract of each text, in the order given, in one pass."""
    starts = [0]
    with (folder / f"{name}.bin").open("wb") as file:
        for title, abstract in texts:
            both = _clean(title) + _BETWEEN + _clean(abstract) if abstract else _clean(title)
            starts.append(starts[-1] + file.write(both.encode()))
    np.save(folder / f"{name}.npy", np.array(starts, dtype=np.int64))


def text_of(paper: Paper) -> tuple[str, str]:
    """Title and abstract, which a source may have given sentence by sentence."""
    return paper.title, " ".join(paper.sentences) if paper.sentences else paper.abstract


def _clean(text: str) -> str:
    """A lone surrogate, which no tokenizer accepts, becomes "?", as encoders have it."""
    return text.replace(_BETWEEN, " ").encode("utf-8", "replace").decode("utf-8")
