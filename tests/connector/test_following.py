"""Passes over an index into a store: each change once, on from where a pass was broken off, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import islice
from typing import Any, Protocol

import pytest
from library import Library, QuickEncoder, documents

from sciret.connector.address import Address
from sciret.connector.attachment import SEQ_NO, Attachment, load_attachment, save_attachment
from sciret.connector.client import connect
from sciret.connector.existing import inspect
from sciret.connector.following import Pass
from sciret.connector.order import Order
from sciret.connector.store import OpenSearchStore
from sciret.errors import RecordError
from sciret.mappings.options import IndexOptions
from sciret.paper import Paper
from sciret.retrieval.ingest import IngestReport
from sciret.retrieval.parts import ingest_in_parts

FIELDS = {"title": "bib.titel", "abstract": "kurz", "deleted": "withdrawn"}


class Server(Protocol):
    @property
    def url(self) -> str: ...


class BrokenOffError(Exception):
    """As if the process had been killed."""


class Sidecar:
    """A library, a store beside it, and passes from one into the other."""

    def __init__(self, library: Library, store: OpenSearchStore, by: str = SEQ_NO) -> None:
        self.library, self.store, self.by = library, store, by
        self.encoder = QuickEncoder()
        self.refused: list[RecordError] = []

    def run(self, *, size: int = 50, parts: int | None = None) -> IngestReport:
        """One pass; with `parts`, one that is broken off after so many."""
        client, before = self.library.client, load_attachment(self.store.client)
        existing = inspect(client)
        attachment = before or Attachment(self.library.address, FIELDS)
        one = Pass(client, existing, attachment, Order.of(self.by, existing, None))
        settled = 0

        def remember(complete: bool) -> None:
            nonlocal settled
            save_attachment(self.store.client, one.settled(complete=complete))
            settled += 1
            if settled == parts:
                raise BrokenOffError

        with closing(one.papers()) as papers:
            return ingest_in_parts(
                papers,
                self.encoder,
                self.store,
                on_settled=remember,
                on_reject=self.refused.append,
                on_progress=lambda _: None,
                size=size,
            )

    @property
    def papers(self) -> int:
        return int(self.store.stats()["papers"] or 0)


@pytest.fixture(params=["opensearch"])
def server(request: pytest.FixtureRequest) -> Server:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


@pytest.fixture
def make(server: Server, unique_name: Callable[..., str]) -> Iterator[Callable[..., Sidecar]]:
    with ExitStack() as opened:

        def sidecar(by: str = SEQ_NO) -> Sidecar:
            library = Library(server.url, unique_name("library"))
            opened.callback(library.client.close)
            library.client.call("PUT", f"/{library.name}/_mapping", {"properties": {"withdrawn": {"type": "boolean"}}})
            where = f"{server.url}/{unique_name('sidecar')}"
            store = OpenSearchStore.open(where, create=True, options=IndexOptions(replicas=0, sentences=False))
            return Sidecar(library, opened.enter_context(store), by)

        yield sidecar


@pytest.mark.parametrize("server", ["opensearch", "opensearch_2"], indirect=True)
def test_a_first_pass_takes_everything_and_later_ones_what_changed(make: Callable[..., Sidecar]) -> None:
    """By title and abstract: another shelf is no other paper."""
    sidecar = make()
    sidecar.library.put(documents(range(120)))
    report = sidecar.run()
    assert (report.read, report.written, sidecar.papers) == (120, 120, 120)
    sidecar.library.put({**documents([7], kurz="Wet."), **documents([8], shelf="Z"), **documents(range(120, 125))})
    sidecar.encoder.encoded.clear()
    assert sidecar.run().written == 6
    assert sorted(sidecar.encoder.encoded) == ["d120", "d121", "d122", "d123", "d124", "d7"]
    assert sidecar.store.get(["d7"])["d7"].paper == Paper("d7", "Peat and moss 7", "Wet.")


@pytest.mark.parametrize("by", [SEQ_NO, "updated_at"])
def test_a_pass_that_was_killed_goes_on(make: Callable[..., Sidecar], by: str) -> None:
    """Nothing that was settled is read again, but for the overlap; what changed meanwhile is taken, too."""
    sidecar = make(by)
    sidecar.library.put(documents(range(1200), updated_at="2024-06-10T12:00:00Z"))
    with pytest.raises(BrokenOffError):
        sidecar.run(size=600, parts=1)
    assert sidecar.papers == 600
    sidecar.library.put(documents([1, 1199], kurz="Changed.", updated_at="2024-06-10T12:00:01Z"))
    anew = len({"d1", "d1199"} & set(sidecar.encoder.encoded))
    report = sidecar.run(size=600)
    assert report.written == 600 + anew
    assert report.read <= 600 + anew + 2 * 200
    assert sidecar.papers == 1200
    for name in ("d1", "d1199"):
        assert sidecar.store.get([name])[name].paper.abstract == "Changed."
    assert sidecar.run().written == 0


def test_what_a_document_says_of_its_deletion(make: Callable[..., Sidecar]) -> None:
    sidecar = make()
    sidecar.library.put(documents(range(3)))
    sidecar.run()
    sidecar.library.put(documents([1], withdrawn=True))
    assert sidecar.run().deleted == 1
    assert sorted(sidecar.store.get(["d0", "d1", "d2"])) == ["d0", "d2"]


def test_documents_that_are_no_papers_are_refused_by_name(make: Callable[..., Sidecar]) -> None:
    """And taken when they have become papers."""
    sidecar = make()
    sidecar.library.put({**documents([1]), "nameless": {"kurz": "Only this."}})
    assert sidecar.run().rejected == 1
    (error,) = sidecar.refused
    assert error.where == f"{sidecar.library.name}/nameless"
    sidecar.library.put({"nameless": {"bib": {"titel": "Now"}}})
    report = sidecar.run()
    assert (report.written, report.rejected) == (1, 0)


def test_an_id_of_several_indices_counts_once(
    make: Callable[..., Sidecar], server: Server, unique_name: Callable[..., str]
) -> None:
    """An alias may have two documents of the same id; a store has one paper."""
    first, second = make(), make()
    first.library.put(documents(range(3)))
    second.library.put(documents([2, 3], kurz="Other."))
    alias = unique_name("both")
    actions = [{"add": {"index": each.library.name, "alias": alias}} for each in (first, second)]
    first.library.client.call("POST", "/_aliases", {"actions": actions})
    with closing(connect(Address.parse(f"{server.url}/{alias}"))) as client:
        existing = inspect(client)
        one = Pass(client, existing, Attachment("", FIELDS), Order.of(SEQ_NO, existing))
        found = list(one.papers())
    assert sorted(paper.id for paper in found if isinstance(paper, Paper)) == ["d0", "d1", "d2", "d3"]
    (refused,) = [error for error in found if isinstance(error, RecordError)]
    assert refused.where.endswith("/d2")
    assert "in another index" in refused.reason


def test_positions_never_go_back(make: Callable[..., Sidecar]) -> None:
    """Where the overlap of a pass finds nothing any more, the next one does not begin earlier still."""
    sidecar = make()
    sidecar.library.put(documents(range(10)))
    sidecar.run()
    before = load_attachment(sidecar.store.client)
    sidecar.library.client.call(
        "POST", f"/{sidecar.library.name}/_delete_by_query", {"query": {"match_all": {}}}, params={"refresh": "true"}
    )
    sidecar.run()
    after = load_attachment(sidecar.store.client)
    assert before
    assert after
    assert after.by(SEQ_NO).positions == before.by(SEQ_NO).positions


def test_memory_is_bounded(make: Callable[..., Sidecar], monkeypatch: pytest.MonkeyPatch) -> None:
    """Papers are handed out while the rest of the index is still unread."""
    sidecar = make()
    sidecar.library.put(documents(range(1000)))
    client = sidecar.library.client
    asked: list[Any] = []
    perform = client.api.transport.perform_request

    def counted(method: str, path: str, **options: Any) -> Any:
        if path == "/_search":
            asked.append(options["body"]["size"])
        return perform(method, path, **options)

    monkeypatch.setattr(client.api.transport, "perform_request", counted)
    existing = inspect(client)
    with closing(Pass(client, existing, Attachment("", FIELDS), Order.of(SEQ_NO, existing)).papers()) as papers:
        list(islice(papers, 10))
    assert sum(asked) < 600
