"""Passes over an existing index from the command line: reader, encoder, store, rejects file and progress together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sciret.cli.cluster import credentials_of
from sciret.cli.events import ingest_events
from sciret.cli.ingest_run import Outcome
from sciret.cli.progress import counted_progress
from sciret.cli.run_rejects import RunRejects, default_rejects
from sciret.cli.stores import open_store
from sciret.connector.address import Address
from sciret.connector.attach import (
    check_attachment,
    check_fields,
    check_sidecar,
    prepare_sidecar,
    sidecar_address,
)
from sciret.connector.attachment import SEQ_NO, Attachment, load_attachment, save_attachment
from sciret.connector.backoff import Patience
from sciret.connector.client import Client, connect
from sciret.connector.existing import Existing, inspect
from sciret.connector.field_map import FieldMap
from sciret.connector.following import Pass
from sciret.connector.in_place import InPlaceStore, check_in_place
from sciret.connector.order import Order
from sciret.connector.store import OpenSearchStore
from sciret.encoders.encoder import Encoder
from sciret.retrieval.ingest import IngestReport
from sciret.retrieval.parts import ingest_in_parts
from sciret.settings import Settings
from sciret.sources.shard import Shard


@dataclass(frozen=True, slots=True)
class Wish:
    """What to attach to, and how."""

    source: Address
    into: Address | None
    in_place: bool
    fields: FieldMap
    title_from_abstract: bool

    @property
    def target(self) -> Address:
        return self.source if self.in_place else self.into or sidecar_address(self.source)


def run_attach(wish: Wish, settings: Settings, rejects: str | None) -> Outcome:
    """Everything that could be wrong is looked at before the first document is encoded."""
    settings = replace(settings, store=str(wish.target))
    with connected(wish.source, settings) as source:
        existing = inspect(source)
        wanted = Attachment(str(wish.source), wish.fields.paths, wish.title_from_abstract)
        attachment = check_attachment(_before(wish, source, existing, settings), wanted, wish.target)
        check_fields(source, existing, wish.fields)
        total = int(source.call("GET", f"/{source.path}/_count")["count"]) if attachment is wanted else None
        with followed(settings, in_place=wish.in_place) as follower:
            if wish.in_place:
                save_attachment(source, attachment)
            else:
                prepare_sidecar(follower.store.client, attachment)
            one = Pass(source, existing, attachment, Order.of(SEQ_NO, existing))
            return follower.run(one, rejects, total)


def _before(wish: Wish, source: Client, existing: Existing, settings: Settings) -> Attachment | None:
    if wish.in_place:
        check_in_place(source, existing)
        return load_attachment(source)
    with connected(wish.target, settings) as target:
        return check_sidecar(target, existing)


@contextmanager
def connected(address: Address, settings: Settings) -> Iterator[Client]:
    client = connect(address, credentials_of(settings))
    try:
        yield client
    finally:
        client.close()


@contextmanager
def followed(settings: Settings, *, in_place: bool) -> Iterator[Follower]:
    """The store that papers go into, opened, and the encoder for it."""
    encoder = Encoder.open(settings.model, device=settings.device, threads=settings.threads)
    if in_place:
        who = credentials_of(settings)
        with InPlaceStore.open(
            settings.store, credentials=who, create=True, refresh=False, patience=Patience()
        ) as inside:
            yield Follower(settings, encoder, inside)
        return
    with open_store(settings, create=True) as store:
        assert isinstance(store, OpenSearchStore)  # noqa: S101 - the address of a cluster has no other
        yield Follower(settings, encoder, store)


@dataclass(frozen=True, slots=True)
class Follower:
    """A store that follows an index, and the encoder for it."""

    settings: Settings
    encoder: Encoder
    store: OpenSearchStore

    def run(self, one: Pass, rejects: str | None, total: int | None = None) -> Outcome:
        """One pass. After every part of it the store remembers how far it got."""
        path = Path(rejects) if rejects else default_rejects(self.settings.store, Shard(1, 1))
        refused = RunRejects(path, ())
        complete = False
        try:
            with (
                closing(one.papers()) as records,
                counted_progress(total) as shown,
                ExitStack() as events,
            ):
                keep: Callable[[IngestReport], None] | None = None

                def tell(so_far: IngestReport) -> None:
                    nonlocal keep
                    shown.update(so_far)
                    if keep is None and so_far.read > so_far.unchanged:  # a pass that finds nothing new is no event
                        keep = events.enter_context(ingest_events(self.store, self.settings, self.encoder.model))
                    if keep:
                        keep(so_far)

                def remember(complete: bool) -> None:
                    save_attachment(self.store.client, one.settled(complete=complete))

                report = ingest_in_parts(
                    shown.watch(records),
                    self.encoder,
                    self.store,
                    on_settled=remember,
                    on_reject=refused.add,
                    on_progress=tell,
                )
            complete = not report.interrupted
        finally:
            where = refused.settle(complete=complete)
        return Outcome(report, self.settings.store, where, refused.reasons)
