"""A new version of a store while searches and writes go on, on a real server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from sciret.connector.address import Address
from sciret.connector.client import Client, connect
from sciret.connector.credentials import Credentials
from sciret.connector.indices import IndexOptions
from sciret.connector.migration import Migration, begin
from sciret.connector.store import OpenSearchStore
from sciret.connector.versions import read_versions, refuse_writes
from sciret.encoded import EncodedPaper
from sciret.encoders.choice import EncoderChoice
from sciret.encoders.encoder import Encoder
from sciret.errors import RecordError, StoreError, WrongModelError
from sciret.paper import Paper
from sciret.retrieval.following import ask_following
from sciret.retrieval.ingest import ingest
from sciret.retrieval.migrate import MigrationReport, encode_again, migrate, take_over
from sciret.retrieval.queries import Question
from sciret.retrieval.search import SearchOptions
from sciret.sources.reader import open_source

from ..encoders.tiny_bundle import tiny_bundle

CORPUS = Path(__file__).parents[2] / "examples" / "corpus.jsonl"
LAYOUT = IndexOptions(replicas=0)
TEXTS = ("sleep and memory", "solar cells", "how plants sense drought", "identifiers for grey literature")
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
        ingest(corpus, old_encoder, made, on_reject=_fail, on_progress=lambda _: None)
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


def _fail(error: RecordError) -> None:
    raise error


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


def test_taken_over_papers_are_the_same(
    client: Client, store: OpenSearchStore, start: Begin, corpus: list[Paper]
) -> None:
    """Record, sentences and vectors, to the last bit."""
    ids = [paper.id for paper in corpus]
    before = store.get(ids)
    report = migrate(start(), take_over, nothing)
    after = store.get(ids)
    assert report.copied == report.papers == len(corpus) == len(after)
    for paper_id, old in before.items():
        new = after[paper_id]
        assert (new.paper, new.sentences, new.roles, new.model) == (old.paper, old.sentences, old.roles, old.model)
        assert old.dense is not None
        assert np.array_equal(new.dense, old.dense)  # type: ignore[arg-type]
        assert np.array_equal(new.sentence_vectors, old.sentence_vectors)  # type: ignore[arg-type]


def test_papers_of_another_model_are_encoded_as_an_ingest_would(
    client: Client, store: OpenSearchStore, start: Begin, corpus: list[Paper], new_encoder: Encoder
) -> None:
    migrate(start(LAYOUT, new_encoder), encode_again(new_encoder), nothing)
    stored = store.get([paper.id for paper in corpus])
    for fresh in new_encoder.encode_papers(corpus):
        kept = stored[fresh.paper.id]
        assert (kept.model, kept.paper) == (new_encoder.model, fresh.paper)
        assert kept.dense is not None
        assert fresh.dense is not None
        assert np.abs(kept.dense - fresh.dense).max() < 1e-3


class Writing:
    """A writer that goes on changing, adding and deleting papers, and keeps account of what was acknowledged."""

    def __init__(self, address: Address, encoder: Encoder, papers: Sequence[Paper]) -> None:
        self._address, self._encoder = address, encoder
        self.expected: dict[str, str | None] = {paper.id: paper.content_hash for paper in papers}
        self._papers = list(papers)
        self.refused: list[str] = []
        self.over = Event()
        self.thread = Thread(target=self._write)

    def _write(self) -> None:
        with OpenSearchStore.open(self._address, refresh=False) as store:
            number = 0
            while not self.over.is_set():
                number += 1
                paper = self._papers[number % len(self._papers)]
                new = replace(paper, id=f"added-{number}", title=f"{paper.title} again")
                changed = replace(paper, title=f"{paper.title} ({number})")
                gone = self._papers[-1 - number % 40].id
                try:
                    store.write(list(self._encoder.encode_papers([new, changed])))
                    self.expected[new.id], self.expected[changed.id] = new.content_hash, changed.content_hash
                    store.delete([gone])
                    self.expected[gone] = None
                except StoreError as error:
                    self.refused.append(str(error))
                    self.expected.pop(new.id, None)
                    for each in (changed.id, gone):  # which of them went through is not known: nothing is promised
                        self.expected.pop(each, None)


def test_what_is_acknowledged_meanwhile_is_in_the_new_version(
    client: Client, store: OpenSearchStore, start: Begin, corpus: list[Paper], old_encoder: Encoder
) -> None:
    """Added, changed and deleted papers; a write that comes too late is refused, not lost."""
    writing = Writing(client.address, old_encoder, corpus)
    writing.thread.start()
    try:
        report = migrate(start(), take_over, nothing)
        time.sleep(0.5)
    finally:
        writing.over.set()
        writing.thread.join()
    wanted = {paper_id: found for paper_id, found in writing.expected.items() if found}
    gone = [paper_id for paper_id, found in writing.expected.items() if not found]
    assert report.passes > 2
    assert store.hashes(list(wanted)) == wanted
    assert store.hashes(gone) == {}
    assert any(paper_id.startswith("added") for paper_id in wanted)
    assert gone
    assert all("write" in reason for reason in writing.refused)


def test_a_writer_that_missed_the_swap_is_refused(client: Client, store: OpenSearchStore, start: Begin) -> None:
    """The version that was live takes no writes any more, even by its own name."""
    old = read_versions(client).live
    assert old is not None
    migrate(start(), take_over, nothing)
    with pytest.raises(StoreError, match="blocked"):
        client.call("PUT", f"/{old.index}/_doc/late", {"id": "late"})


def test_a_version_that_is_not_good_enough_does_not_go_live(
    client: Client, store: OpenSearchStore, start: Begin
) -> None:
    """The old one serves and takes writes as before; the next try goes on where this one ended."""

    def refuse() -> None:
        raise StoreError("not good enough")

    before = read_versions(client).live
    with pytest.raises(StoreError, match="not good enough"):
        migrate(start(), take_over, refuse)
    versions = read_versions(client)
    assert versions.live == before
    assert versions.of("next") is not None
    report = migrate(start(), take_over, nothing)
    assert report.copied == 0
    assert read_versions(client).of("next") is None


def test_writes_are_taken_again_when_the_last_step_fails(
    client: Client, store: OpenSearchStore, start: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    move = start()

    def fail() -> None:
        raise StoreError("no swap today")

    monkeypatch.setattr(move, "swap", fail)
    with pytest.raises(StoreError, match="no swap today"):
        migrate(move, take_over, nothing)
    live = read_versions(client).live
    assert live is not None
    assert not live.read_only
    assert live.number == 1


def test_a_migration_that_was_killed_while_it_held_writes_lets_them_go_when_continued(
    client: Client, store: OpenSearchStore, start: Begin
) -> None:
    start()
    live = read_versions(client).live
    assert live is not None
    refuse_writes(client, live.index)
    start()
    assert store.delete(["ex-001"]) == 1


class Interrupted:
    """An encoder during which somebody presses Ctrl-C."""

    def __init__(self, encoder: Encoder) -> None:
        self.model, self._encoder = encoder.model, encoder

    def encode_papers(self, papers: Iterable[Paper]) -> Iterator[EncodedPaper]:
        yield from islice(self._encoder.encode_papers(papers), 30)
        raise KeyboardInterrupt


def test_ctrl_c_ends_it_without_a_swap(
    client: Client, store: OpenSearchStore, start: Begin, corpus: list[Paper], new_encoder: Encoder
) -> None:
    """What was encoded until then is kept for the next try."""
    with pytest.raises(KeyboardInterrupt):
        migrate(start(LAYOUT, new_encoder), encode_again(Interrupted(new_encoder)), nothing)
    live = read_versions(client).live
    assert live is not None
    assert (live.number, live.read_only) == (1, False)
    assert migrate(start(LAYOUT, new_encoder), encode_again(new_encoder), nothing).copied == len(corpus) - 30


def test_only_one_of_two_migrations_swaps(client: Client, store: OpenSearchStore, start: Begin) -> None:
    """The other one is told so; the store is whole."""
    first, second = start(), start()
    report = migrate(first, take_over, nothing)
    with pytest.raises(StoreError):
        migrate(second, take_over, nothing)
    assert store.stats()["papers"] == report.papers
    live = read_versions(client).live
    assert live is not None
    assert not live.read_only


def test_a_migration_to_something_else_does_not_continue_an_unfinished_one(
    client: Client, store: OpenSearchStore, start: Begin
) -> None:
    start(replace(LAYOUT, shards=2))
    with pytest.raises(StoreError, match="sciret index delete next"):
        start(replace(LAYOUT, shards=3))


def test_progress_is_told(client: Client, store: OpenSearchStore, start: Begin) -> None:
    phases: list[str] = []

    def tell(report: MigrationReport) -> None:
        if not phases or phases[-1] != report.phase:
            phases.append(report.phase)

    migrate(start(), take_over, nothing, tell)
    assert phases == ["copying", "catching up", "comparing", "swapping", "done"]


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
        ingest(papers, old_encoder, store, on_reject=_fail, on_progress=lambda _: None)
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
