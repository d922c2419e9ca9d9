"""Texts become the ids that encoders would read, padded, and never longer than allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sciret.encoders.bundle import Bundle
from sciret.encoders.text import TextReader
from sciret.paper import Paper
from sciret.training.backbone import load_tokenizer
from sciret.training.reading import Reader

from .conftest import Make

PAPERS = [
    ("neural networks", "we show that a model of the brain sleeps. new results."),
    ("coral reef", ""),
    ("", "data of the ocean"),
    ("deep galaxy dust " * 20, "we study it " * 30),
    ("We study soil.", "We study soil. carbon"),
    ("a [SEP] in a title", "and [MASK] in an abstract"),
]


@pytest.fixture(scope="module")
def folder(checkpoints: Make) -> Path:
    return checkpoints("bert")


def test_papers_are_read_as_encoders_read_them(folder: Path) -> None:
    """Id by id: with and without abstract or title, too long, title taken from the abstract, special tokens as text."""
    bundle = Bundle(folder, "tiny", ("dense",), dims=32, max_length=24, files={}, fingerprint="")
    expected = [TextReader(bundle).read_paper(Paper("1", title, abstract)).ids.tolist() for title, abstract in PAPERS]
    texts = Reader(load_tokenizer(str(folder)), query_length=8, document_length=24).papers(PAPERS)
    found = [ids[mask.bool()].tolist() for ids, mask in zip(texts.ids, texts.mask, strict=True)]
    assert found == expected
    assert max(map(len, found)) == 24


def test_queries_have_a_length_of_their_own(folder: Path) -> None:
    texts = Reader(load_tokenizer(str(folder)), query_length=5, document_length=24).queries(["sleep", "sleep " * 9])
    assert texts.mask.sum(dim=1).tolist() == [3, 5]
    assert texts.ids[0, 3:].tolist() == [0, 0]
