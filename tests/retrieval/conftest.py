"""The real default model and a store with part of the example corpus, made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sciret.embedded.store import EmbeddedStore
from sciret.encoders.bundle import Sparse
from sciret.encoders.encoder import Encoder
from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.retrieval.ingest import ingest
from sciret.sources.reader import open_source

from ..encoders.sparse_bundle import PHRASES, sparse_bundle

CORPUS = Path(__file__).parents[2] / "examples" / "corpus.jsonl"
REEFS = (
    Paper("reef-1", "Coral reef enzymes", "An enzyme of zooxanthellae keeps corals alive. The coral reef recovers."),
    Paper("reef-2", "Reefs of sand", "Waves carry sand onto a coral reef until it is buried under a desert dune."),
    Paper("reef-3", "An enzyme from a desert dune", "Bacteria in dry sand digest plastic by one enzyme."),
)
"""Papers that the keyphrases of the sparse bundle are about."""


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    return Encoder.open("default", device="cpu")


@pytest.fixture(scope="session")
def sparse_encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    """Of a bundle that gives all four parts; its weights are counts of words."""
    phrases = {"phrases": PHRASES, "sparse": Sparse(query_tokens="weighted", query_keyphrases="weighted")}
    return Encoder.open(sparse_bundle(tmp_path_factory.mktemp("sparse"), vectors=True, **phrases), device="cpu")  # type: ignore[arg-type]


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


@pytest.fixture(scope="session")
def learned_store(
    sparse_encoder: Encoder, papers: list[Paper], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedStore]:
    """The same papers by a model with learned sparse features."""
    with EmbeddedStore.open(tmp_path_factory.mktemp("learned") / "papers.db", create=True) as filled:
        filled.write(list(sparse_encoder.encode_papers([*papers, *REEFS])))
        yield filled
