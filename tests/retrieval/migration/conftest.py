"""A store on a real server, filled by one model, and migrations of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sciret.connector.address import Address
from sciret.connector.client import Client, connect
from sciret.connector.credentials import Credentials
from sciret.connector.indices import IndexOptions
from sciret.connector.migration import Migration, begin
from sciret.connector.store import OpenSearchStore
from sciret.encoders.encoder import Encoder
from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.retrieval.ingest import ingest
from sciret.sources.reader import open_source

from ...encoders.tiny_bundle import tiny_bundle

CORPUS = Path(__file__).parents[3] / "examples" / "corpus.jsonl"
LAYOUT = IndexOptions(replicas=0)
Begin = Callable[..., Migration]


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two models whose vectors are equally long: nothing but the fingerprint tells them apart."""
    folder = tmp_path_factory.mktemp("bundles")
    return tiny_bundle(folder / "old", seed=1), tiny_bundle(folder / "new", seed=2)


@pytest.fixture(scope="module")
def old_encoder(bundles: tuple[str, str]) -> Encoder:
    return Encoder.open(bundles[0], device="cpu")


@pytest.fixture(scope="module")
def new_encoder(bundles: tuple[str, str]) -> Encoder:
    return Encoder.open(bundles[1], device="cpu")


@pytest.fixture(scope="module")
def corpus() -> list[Paper]:
    return [paper for paper in open_source(str(CORPUS)) if isinstance(paper, Paper)][:70]


@pytest.fixture
def client(opensearch: Any, unique_name: Callable[[], str]) -> Iterator[Client]:
    made = connect(Address.parse(f"{opensearch.url}/{unique_name()}"))
    yield made
    made.close()


@pytest.fixture
def store(client: Client, old_encoder: Encoder, corpus: list[Paper]) -> Iterator[OpenSearchStore]:
    """Filled by the old model."""
    with OpenSearchStore.open(str(client.address), create=True, options=LAYOUT) as made:
        ingest(corpus, old_encoder, made, on_reject=fail, on_progress=lambda _: None)
        yield made


@pytest.fixture
def start(client: Client, old_encoder: Encoder) -> Iterator[Begin]:
    """Begins or continues a migration, by default to the same model in another layout."""
    begun: list[Migration] = []

    def make(layout: IndexOptions | None = None, encoder: Encoder = old_encoder) -> Migration:
        own = connect(client.address)  # closed with the migration
        layout = layout or replace(LAYOUT, shards=2, sentences=False)
        model = {"model": encoder.model, "model_name": encoder.bundle.name, "dims": encoder.bundle.dims}
        begun.append(begin(own, Credentials(), layout, **model))  # type: ignore[arg-type]
        return begun[-1]

    yield make
    for each in begun:
        each.close()


def nothing() -> None:
    """No canary."""


def fail(error: RecordError) -> None:
    raise error
