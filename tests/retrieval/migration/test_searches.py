"""Searches go on while a store is migrated, whichever version they meet, even when a node dies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread
from typing import Any

import pytest

from sciret.connector.address import Address
from sciret.connector.client import Client, connect
from sciret.connector.credentials import Credentials
from sciret.connector.indices import IndexOptions
from sciret.connector.migration import begin
from sciret.connector.store import OpenSearchStore
from sciret.connector.versions import read_versions
from sciret.encoders.choice import EncoderChoice
from sciret.encoders.encoder import Encoder
from sciret.errors import WrongModelError
from sciret.paper import Paper
from sciret.retrieval.following import ask_following
from sciret.retrieval.ingest import ingest
from sciret.retrieval.migrate import MigrationReport, encode_again, migrate, take_over
from sciret.retrieval.queries import Question
from sciret.retrieval.search import SearchOptions

from .conftest import LAYOUT, Begin, fail, nothing

TEXTS = ("sleep and memory", "solar cells", "how plants sense drought", "identifiers for grey literature")


class Searching:
    """Threads that search through the alias for as long as the block lasts, with whichever model is live.

    They share a store, as those of a web server do: what one of them notices must not mislead another.
    """

    def __init__(self, address: Address, bundles: Sequence[str], like: str = "ex-001", threads: int = 3) -> None:
        self._like = like
        self._store = OpenSearchStore.open(address)
        self._encoders = EncoderChoice(bundles, device="cpu", threads=1)
        self._over = Event()
        self.errors: list[BaseException] = []
        self.sizes: list[int] = []
        self.models: set[str] = set()
        self._threads = [Thread(target=self._search, args=(number,)) for number in range(threads)]

    def _search(self, number: int) -> None:
        question = Question("q", TEXTS[number % len(TEXTS)]) if number else Question("q", like=self._like)
        while not self._over.is_set():
            try:
                found = ask_following(question, self._encoders, self._store, SearchOptions(candidates=20))
                self.sizes.append(len(list(found.hits())))
                self.models.add(found.query.model)
            except BaseException as error:
                self.errors.append(error)
                return

    @contextmanager
    def going_on(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            self._wait()
            yield
            self._wait()
        finally:
            self._over.set()
            for thread in self._threads:
                thread.join()
            self._store.close()

    def _wait(self) -> None:
        """Until some more searches are done."""
        enough, late = len(self.sizes) + 10, time.monotonic() + 60
        while len(self.sizes) < enough and not self.errors and time.monotonic() < late:
            time.sleep(0.02)


def test_searches_go_on_during_a_migration_to_another_layout(
    client: Client, store: OpenSearchStore, start: Begin, bundles: tuple[str, str]
) -> None:
    """None fails and none is empty, and afterwards the alias stands for an index in the other layout."""
    searching = Searching(client.address, bundles[:1])
    with searching.going_on():
        migrate(start(), take_over, nothing)
    assert searching.errors == []
    assert min(searching.sizes) == 10
    live = read_versions(client).live
    assert live is not None
    assert (live.options.shards, live.options.sentences, live.number) == (2, False, 2)


def test_searches_go_on_during_a_migration_to_another_model(
    client: Client, store: OpenSearchStore, start: Begin, bundles: tuple[str, str], new_encoder: Encoder
) -> None:
    """A process that knows both models follows the swap by itself: none fails, none is empty."""
    searching = Searching(client.address, bundles)
    with searching.going_on():
        migrate(start(LAYOUT, new_encoder), encode_again(new_encoder), nothing)
    assert searching.errors == []
    assert min(searching.sizes) == 10
    assert len(searching.models) == 2


def test_a_process_with_the_old_model_alone_is_refused_after_the_swap(
    client: Client, store: OpenSearchStore, start: Begin, bundles: tuple[str, str], new_encoder: Encoder
) -> None:
    """With both fingerprints: never an answer that mixes two models."""
    encoders = EncoderChoice(bundles[:1], device="cpu")
    question, options = Question("q", TEXTS[0]), SearchOptions()
    old = ask_following(question, encoders, store, options).query.model
    migrate(start(LAYOUT, new_encoder), encode_again(new_encoder), nothing)
    with pytest.raises(WrongModelError) as refused:
        ask_following(question, encoders, store, options)
    assert (refused.value.stored, refused.value.given) == (new_encoder.model, old)


def test_a_migration_outlasts_the_death_of_a_node(
    opensearch_cluster: Any,
    unique_name: Callable[[], str],
    corpus: list[Paper],
    bundles: tuple[str, str],
    old_encoder: Encoder,
    new_encoder: Encoder,
) -> None:
    """`kill -9` of the elected manager in the middle: it ends by itself, with every paper, and searches go on."""
    nodes = ",".join(url.removeprefix("http://") for url in opensearch_cluster.urls)
    address = Address.parse(f"http://{nodes}/{unique_name()}")
    layout = IndexOptions(replicas=1)
    papers = [replace(paper, id=f"{paper.id}-{copy}") for copy in range(4) for paper in corpus]
    with OpenSearchStore.open(address, create=True, options=layout) as store:
        ingest(papers, old_encoder, store, on_reject=fail, on_progress=lambda _: None)
        model = {"model": new_encoder.model, "model_name": "new", "dims": new_encoder.bundle.dims}
        move = begin(connect(address), Credentials(), replace(layout, shards=2), **model)  # type: ignore[arg-type]
        killed: list[str] = []

        def kill(report: MigrationReport) -> None:
            if report.copied and not killed:
                killed.append(opensearch_cluster.manager())
                opensearch_cluster.kill(killed[0])

        searching = Searching(address, bundles, "ex-001-0")
        try:
            with searching.going_on():
                report = migrate(move, encode_again(new_encoder), nothing, kill)
        finally:
            move.close()
        assert killed
        assert (report.papers, store.stats()["papers"]) == (len(papers), len(papers))
        assert searching.errors == []
        assert min(searching.sizes) == 10
