"""The real default model and a store with part of the example corpus, made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sciret.embedded.store import EmbeddedStore
from sciret.encoders.encoder import Encoder
from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.retrieval.ingest import ingest
from sciret.sources.reader import open_source

CORPUS = Path(__file__).parents[2] / "examples" / "corpus.jsonl"


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    return Encoder.open("default", device="cpu")


@pytest.fixture(scope="session")
def papers() -> list[Paper]:
    """Every fourth paper of the example corpus: all fields, with open, embargoed and title-only records."""
    read = [record for record in open_source(str(CORPUS)) if isinstance(record, Paper)]
    return read[::4]


@pytest.fixture(scope="session")
def store(encoder: Encoder, papers: list[Paper], tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStore]:
    def fail(error: RecordError) -> None:
        raise error

    with EmbeddedStore.open(tmp_path_factory.mktemp("store") / "papers.db", create=True) as filled:
        ingest(papers, encoder, filled, on_reject=fail, on_progress=lambda _: None)
        yield filled
