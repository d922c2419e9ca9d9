"""What a write and a delete do to the index: made when it is not there, claimed for a model, filled, refreshed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from sciret.connector.bulk import BulkReport, BulkWriter
from sciret.connector.client import Client
from sciret.connector.documents import document_id, to_document
from sciret.connector.failures import MissingIndexError, RefusedRequestError
from sciret.connector.identity import Identity, find_identity
from sciret.connector.indices import create_index, index_meta, index_name, put_meta
from sciret.connector.initial_load import BEFORE_LOAD, InitialLoad, restore
from sciret.encoded import EncodedPaper
from sciret.errors import PapersRefusedError, StoreError, WrongModelError
from sciret.mappings.options import IndexOptions
from sciret.storable import dims_of

BETA = 0.25
"""What keyphrases weigh beside tokens in the length of a sparse vector."""


class Writing:
    """One alias' index, looked at anew for every batch: a migration or another writer may have changed it."""

    def __init__(self, client: Client, options: IndexOptions, *, create: bool) -> None:
        self._client, self._options, self._create = client, options, create
        self._bulk: tuple[str, BulkWriter] | None = None
        self._unseen: str | None = None
        """The index that was written to and not refreshed since."""
        self._load: InitialLoad | None = None

    def put(self, papers: Sequence[EncodedPaper]) -> Identity:
        """All of them are looked at before any is sent. Returns the index that has them now."""
        model = papers[0].model
        for paper in papers:
            if paper.model != model:
                raise WrongModelError(str(self._client.address), model, paper.model)
        identity = self._find()
        if identity and identity.model not in (None, model) and self._holds_papers(identity.index):
            raise WrongModelError(str(self._client.address), identity.model or "", model)
        dims = dims_of(papers, identity.dims if identity else None)
        nested = identity.sentences if identity else self._options.sentences
        beta = identity.beta if identity else BETA
        now = datetime.now(UTC)
        documents = [to_document(paper, nested=nested, beta=beta, now=now) for paper in papers]
        ids = {document_id(paper.paper.id): paper.paper.id for paper in papers}
        identity = self._settled(identity, model, dims) if identity else self._created(model, dims)
        if not identity.learned and any(paper.tokens or paper.keyphrases for paper in papers):
            identity = self._noted(identity, {**identity.own, "learned": True})
        if self._load:
            with self._client.explained():
                self._load.begin(identity.index)
        report = self._send(identity.index, zip(ids, documents, strict=True))
        if report.acknowledged:
            self._unseen = identity.index
        _check(report, ids, str(self._client.address))
        return identity

    def _find(self) -> Identity | None:
        return find_identity(self._client)

    def _send(self, index: str, documents: Iterable[tuple[str, Mapping[str, Any]]]) -> BulkReport:
        return self._writer(index).write(documents)

    @contextmanager
    def loading(self, *, initial: bool) -> Iterator[None]:
        """The `initial` load of an index does without refresh and replicas; both come back when the block ends.

        What such a load lowered that was killed is put right first, or else carried on with.
        """
        identity = find_identity(self._client)
        lowered = identity is not None and BEFORE_LOAD in identity.own
        with self._client.explained():
            if not initial:
                if identity and lowered:
                    restore(self._client.api, identity.index, self._client.patience)
                yield
                return
            if identity and not lowered and self.count(identity.index):
                raise StoreError(
                    f"{self._client.address} has papers already, whose replicas an initial load would take away; "
                    f"leave out --initial-load"
                )
            with InitialLoad(self._client.api) as self._load:
                yield
        self._load = None

    def remove(self, index: str, ids: Sequence[str]) -> int:
        """Delete the papers that there are; how many."""
        report = self._writer(index).delete([document_id(each) for each in ids])
        if report.acknowledged:
            self._unseen = index
        if report.failures:
            reason = report.failures[0].reason
            raise StoreError(f"{self._client.address}: not everything was deleted ({reason}); run it again")
        return report.acknowledged

    def show(self) -> None:
        """Everything that was written is found from here on."""
        if self._unseen:
            self._client.call("POST", f"/{quote(self._unseen)}/_refresh")
            self._unseen = None

    def count(self, index: str) -> int:
        return int(self._client.call("GET", f"/{quote(index)}/_count")["count"])

    def _holds_papers(self, index: str) -> bool:
        """Those too that no search has seen yet."""
        self._client.call("POST", f"/{quote(index)}/_refresh")
        return self.count(index) > 0

    def _writer(self, index: str) -> BulkWriter:
        """One an index, since it learns how much the server takes at once."""
        if self._bulk is None or self._bulk[0] != index:
            self._bulk = index, BulkWriter(self._client.api, index, patience=self._client.patience)
        return self._bulk[1]

    def _settled(self, identity: Identity, model: str, dims: int | None) -> Identity:
        """The index, claimed for this model and with fields for vectors of this length."""
        if identity.model == model and identity.dims == dims:
            return identity
        learned = identity.learned and identity.model == model
        meta = {**identity.meta, "sciret": {**identity.own, "model": model, "dims": dims, "learned": learned}}
        new = dims if identity.dims is None else None
        put_meta(self._client, identity.index, meta, identity.options, vectors=new)
        return Identity(identity.index, meta)

    def _noted(self, identity: Identity, own: Mapping[str, Any]) -> Identity:
        """The index, saying this of itself."""
        meta = {**identity.meta, "sciret": own}
        put_meta(self._client, identity.index, meta, identity.options, vectors=None)
        return Identity(identity.index, meta)

    def _created(self, model: str, dims: int | None) -> Identity:
        """Of two who begin at once one makes the index, with its model in it; the other finds it and compares."""
        address = self._client.address
        if not self._create:
            raise MissingIndexError(f"no index {address.alias!r} at {address.url}: `sciret ingest` makes one")
        name = index_name(address.alias, 1)
        try:
            meta = index_meta(self._options, model=model, dims=dims, beta=BETA)
            create_index(self._client, name, self._options, meta, alias=address.alias)
        except RefusedRequestError as error:
            if error.kind != "resource_already_exists_exception":
                raise
        identity = find_identity(self._client)
        if identity is None:
            raise StoreError(
                f"{address}: there is an index {name}, but no alias {address.alias!r} for it: "
                f"`sciret index status` shows what there is"
            )
        if identity.model not in (None, model):
            raise WrongModelError(str(address), identity.model or "", model)
        return self._settled(identity, model, dims)


def _check(report: BulkReport, ids: Mapping[str, str], where: str) -> None:
    """Raise for what was not written, by what can be done about it."""
    if not report.failures:
        return
    refused = {ids[failure.id]: failure.reason for failure in report.failures if failure.refused}
    if len(refused) == len(report.failures):
        raise PapersRefusedError(where, refused, report.acknowledged)
    lost = next(failure for failure in report.failures if not failure.refused)
    raise StoreError(
        f"{where}: {len(report.failures)} of {len(ids)} papers were not written ({lost.reason}); "
        f"run the command again when the cluster is well: it continues"
    )
