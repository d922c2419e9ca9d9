"""Counts on disk: exact, whatever the blocks; and what they say about being a term."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sciret.encoders.phrase_words import phrase_key
from sciret.paper import Paper
from sciret.training.phrase_counts import COUNT, CountFiles, Termhood, count, merged_counts
from sciret.training.phrase_grams import WordTable, blocks

PAPERS = [
    Paper("1", "Gene regulation", "gene regulation in yeast. Gene regulation.", keywords=("Yeast",)),
    Paper("2", "Yeast", "the gene regulation network"),
    Paper("3", "Gene regulation", keywords=("yeast",)),
]


def counts(tokens: int) -> dict[str, tuple[int, ...]]:
    rows = [count(grams, 0) for grams in blocks(PAPERS, WordTable(), tokens=tokens)]
    merged = merged_counts(np.sort(np.concatenate(rows), order="key", kind="stable"))
    found = {int(row["key"]): tuple(int(row[name]) for name in ("df", "alone", "tf", "author")) for row in merged}
    return {name: found.get(phrase_key(name), ()) for name in ("gene regulation", "yeast", "gene regulation network")}


@pytest.mark.parametrize("tokens", [1, 10, 10_000])
def test_counts_do_not_depend_on_blocks(tokens: int) -> None:
    """Papers, papers where it stands alone, occurrences, papers that name it as a keyphrase."""
    assert counts(tokens) == {
        "gene regulation": (3, 2, 5, 0),
        "yeast": (3, 2, 2, 2),
        "gene regulation network": (1, 1, 1, 0),
    }


def test_files_give_back_the_terms_with_weighted_papers(tmp_path: Path) -> None:
    files = CountFiles(tmp_path)
    for group, papers in enumerate((PAPERS[:2], PAPERS[2:])):
        for grams in blocks(papers, WordTable()):
            files.add(grams, group)
    terms = files.terms([1.0, 10.0], Termhood(papers=2), 100)
    assert list(terms.keys) == sorted(terms.keys)
    weights = dict(zip(terms.keys.tolist(), terms.weights.tolist(), strict=True))
    assert weights[phrase_key("gene regulation")] == 12.0
    assert phrase_key("gene regulation network") not in weights
    assert terms.authors[terms.keys == phrase_key("yeast")].tolist() == [True]


def test_the_limit_keeps_those_in_most_papers(tmp_path: Path) -> None:
    files = CountFiles(tmp_path)
    for grams in blocks([*PAPERS, Paper("4", "gene regulation")], WordTable()):
        files.add(grams, 0)
    assert files.terms([1.0], Termhood(papers=1), 1).keys.tolist() == [phrase_key("gene regulation")]


def row(**values: int) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    rows = np.zeros(1, COUNT)
    for name, value in {"key": 1, "words": 2, "df": 10, "alone": 5, "tf": 20, **values}.items():
        rows[name] = value
    return rows


@pytest.mark.parametrize(
    ("values", "accepted"),
    [
        ({}, True),
        ({"df": 2}, False),  # rare
        ({"alone": 1}, False),  # hardly ever outside longer phrases
        ({"words": 1}, True),
        ({"words": 1, "tf": 11}, False),  # a word of general prose: never repeated
        ({"words": 1, "df": 4, "alone": 4}, False),  # single words need more papers
        ({"df": 2, "alone": 0, "tf": 0, "author": 2}, True),  # authors know
        ({"key": phrase_key("future research")}, False),  # of the list
    ],
)
def test_termhood(values: dict[str, int], accepted: bool) -> None:
    assert Termhood().accepts(row(**values)).tolist() == [accepted]


def test_nothing_in_nothing(tmp_path: Path) -> None:
    assert len(CountFiles(tmp_path).terms([1.0], Termhood(), 10).keys) == 0
