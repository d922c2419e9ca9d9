"""Training data made ready once: triplets joined with their papers, as arrays and texts mapped into memory."""

from __future__ import annotations

import json
import shutil
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sciret.encoders.bundle import sha256
from sciret.errors import RecordError, SettingsError
from sciret.training.corpus import Corpus, Ints, text_of, write_corpus
from sciret.training.mining import open_papers
from sciret.training.triplets import SPLITS, Triplet, read_triplets

DESCRIPTION = "prepared.json"
FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """R triplets over P papers; queries have the triplets' numbers."""

    folder: Path
    queries: Corpus  # R
    papers: Corpus  # P
    positives: npt.NDArray[np.int32]  # [R] numbers of papers
    negatives: npt.NDArray[np.int32]  # [N] those of all triplets, one after the other
    starts: Ints  # [R + 1] where in `negatives` each triplet's begin
    scores: npt.NDArray[
        np.float32
    ]  # [R + N] of a triplet's positive and negatives, from starts[r] + r on; NaN: not given
    weights: npt.NDArray[np.float32]  # [R]
    sources: npt.NDArray[np.uint8]  # [R] numbers in `names`
    splits: npt.NDArray[np.uint8]  # [R] numbers in SPLITS
    names: tuple[str, ...]
    hashes: Mapping[str, str]
    """Of the files it was made of: name to sha256."""

    def rows(self, split: str) -> Ints:
        return np.flatnonzero(self.splits == SPLITS.index(split))

    def counts(self) -> dict[str, dict[str, int]]:
        """Triplets by split and source."""
        found = {split: np.bincount(self.sources[self.rows(split)], minlength=len(self.names)) for split in SPLITS}
        return {split: dict(zip(self.names, map(int, of), strict=True)) for split, of in found.items() if of.any()}


def prepare(triplets: Path, papers: Sequence[Path], folder: Path) -> Prepared:
    """What `folder` has already, if it was made of the same files, else made anew; whole or not at all."""
    hashes = {path.name: sha256(path) for path in (triplets, *papers)}
    found = _description(folder)
    if found is None or found["hashes"] != hashes or found["format"] != FORMAT:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as aside:
            made = Path(aside, "made")
            made.mkdir()
            _make(triplets, papers, made, hashes)
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)
    return open_prepared(folder)


def open_prepared(folder: Path) -> Prepared:
    description = _description(folder)
    if description is None:
        raise SettingsError(f"{folder}: no prepared training data; start the run anew")
    arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
    queries, texts = Corpus(folder, "queries"), Corpus(folder, "papers")
    return Prepared(folder, queries, texts, **arrays, names=tuple(description["names"]), hashes=description["hashes"])


_ARRAYS = {
    "positives": "i",
    "negatives": "i",
    "starts": "q",
    "scores": "f",
    "weights": "f",
    "sources": "B",
    "splits": "B",
}
"""Name to type code, of the `array` module and of numpy alike."""


def _make(triplets: Path, papers: Sequence[Path], folder: Path, hashes: Mapping[str, str]) -> None:
    arrays = {name: array(code) for name, code in _ARRAYS.items()}
    arrays["starts"].append(0)
    numbers: dict[str, int] = {}  # paper id to number, in order of appearance
    first: dict[int, str] = {}  # number to the line that named it first
    names: dict[str, int] = {}
    write_corpus(folder, "queries", _collected(read_triplets(triplets), arrays, numbers, first, names))
    if not arrays["positives"]:
        raise SettingsError(f"{triplets}: no triplets in it; `sciret train mine` makes them")
    if len(names) > 256:
        raise SettingsError(f"{triplets}: {len(names)} sources; at most 256 are told apart")
    order = array("i")  # the papers' numbers in the order of their file
    write_corpus(folder, "unordered", _needed(papers, numbers, order))
    _check_complete(order, numbers, first)
    _reorder(folder, np.asarray(order))
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", np.asarray(values))
    description = {"format": FORMAT, "names": list(names), "hashes": dict(hashes)}
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")


def _collected(
    rows: Iterable[Triplet],
    arrays: Mapping[str, array[Any]],
    numbers: dict[str, int],
    first: dict[int, str],
    names: dict[str, int],
) -> Iterator[tuple[str, str]]:
    """The queries' texts; everything else goes into the arrays on the way."""

    def number(paper: str, where: str) -> int:
        known = numbers.setdefault(paper, len(numbers))
        first.setdefault(known, where)
        return known

    for row in rows:
        arrays["positives"].append(number(row.positive, row.where))
        arrays["negatives"].extend(number(each, row.where) for each in row.negatives)
        arrays["starts"].append(len(arrays["negatives"]))
        arrays["scores"].extend(row.scores or [float("nan")] * (1 + len(row.negatives)))
        arrays["weights"].append(row.weight)
        arrays["sources"].append(min(names.setdefault(row.source, len(names)), 255))
        arrays["splits"].append(SPLITS.index(row.split))
        yield row.query, ""


def _needed(papers: Sequence[Path], numbers: Mapping[str, int], order: array[int]) -> Iterator[tuple[str, str]]:
    """Of all papers, those that a triplet names."""
    for path in papers:
        for paper in open_papers(str(path)):
            if (number := numbers.get(paper.id)) is not None:
                order.append(number)
                yield text_of(paper)


def _check_complete(order: Iterable[int], numbers: Mapping[str, int], first: Mapping[int, str]) -> None:
    seen = set(order)
    if len(seen) < len(numbers):
        paper, number = next((paper, number) for paper, number in numbers.items() if number not in seen)
        reason = (
            f"the paper {paper!r} is in none of the files of papers, or not open, "
            f"nor are {len(numbers) - len(seen) - 1} others; "
            f"give the papers that the triplets were mined from"
        )
        raise RecordError(first[number], reason)


def _reorder(folder: Path, order: npt.NDArray[np.int32]) -> None:
    """Papers by their numbers; of one that is in two files the first counts."""
    unordered = Corpus(folder, "unordered")
    _, places = np.unique(order, return_index=True)
    write_corpus(folder, "papers", (unordered[int(place)] for place in places))
    for suffix in ("bin", "npy"):
        (folder / f"unordered.{suffix}").unlink()


def _description(folder: Path) -> dict[str, Any] | None:
    path = folder / DESCRIPTION
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
