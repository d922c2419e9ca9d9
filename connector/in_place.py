"""InPlaceStore: papers inside the documents of an index that another application made and goes on using.

Everything of ours is in one object of each document. Writing a paper is an update of that object by a script, which
leaves the rest of the document as it is; deleting one removes the object. No document is ever made or deleted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from sciret.connector import queries, statistics
from sciret.connector.bulk import BulkReport
from sciret.connector.candidates import channel_body, exact_body, is_lexical
from sciret.connector.client import Client
from sciret.connector.documents import document_id
from sciret.connector.existing import Existing, ExistingIndex, inspect
from sciret.connector.filters import Clause
from sciret.connector.identity import Identity
from sciret.connector.indices import index_meta
from sciret.connector.placement import ID, placed, taken_out
from sciret.connector.store import RECORDS, OpenSearchStore
from sciret.connector.writing import BETA, Writing
from sciret.encoded import EncodedQuery
from sciret.encoders.analysis import count_terms
from sciret.errors import StoreError
from sciret.mappings.in_place import OBJECT, in_place_fields
from sciret.mappings.options import IndexOptions
from sciret.mappings.templates import SCHEMA
from sciret.store import Channel

OPTIONS = IndexOptions(sentences=False)
"""Nested sentences would multiply the documents that the index is made of; reranking does without them."""
_FLAT = (3, 0)
"""The first version whose k-NN plugin bears vectors without graphs in an index without index.knn (k-NN issue 2540)."""
# As a whole: what `doc` would merge keeps the features that a new version of a paper does not have any more.
_PUT = f"ctx._source.{OBJECT} = params.paper"
_REMOVE = f"if (ctx._source.remove('{OBJECT}') == null) {{ ctx.op = 'none' }}"


def find_in_place(client: Client) -> Identity | None:
    """What sciret says of itself in the index; None where it was not attached yet."""
    found = client.call("GET", f"/{client.path}/_mapping")
    if len(found) != 1:
        raise StoreError(f"{client.address} stands for {len(found)} indices by now; name one of them")
    ((index, body),) = found.items()
    own = ((body["mappings"].get("_meta") or {}).get("sciret") or {}).get("in_place")
    if own and own["schema"] > SCHEMA:
        raise StoreError(f"{client.address} has schema {own['schema']}, this sciret knows {SCHEMA}: upgrade it")
    return Identity(index, {"sciret": own}) if own else None


def check_in_place(client: Client, existing: Existing) -> ExistingIndex:
    """Refuse an index whose documents could not be updated without harm. The sidecar has none of these limits."""
    sidecar = "leave out --in-place: a sidecar index does not touch it"
    if len(existing.indices) != 1:
        names = ", ".join(index.name for index in existing.indices)
        raise StoreError(f"{client.address} stands for several indices ({names}): attach to one of them, or {sidecar}")
    (index,) = existing.indices
    ours = index.meta.get("sciret") or {}
    if "schema" in ours:
        raise StoreError(f"{client.address} is a store of sciret already: search it with --store {client.address}")
    if not index.knn and client.server.version < _FLAT:
        raise StoreError(
            f"{client.address} was made without index.knn, which cannot be changed, and vectors in such an index "
            f"disturb OpenSearch {client.server.number}: its shards fail at the next change of the mapping; {sidecar}"
        )
    if not index.keeps_whole_source:
        raise StoreError(
            f"{client.address}: its _source leaves fields out (includes or excludes in the mapping), which any update "
            f"would lose; {sidecar}"
        )
    if index.field(OBJECT) is not None and "in_place" not in ours:
        raise StoreError(f"{client.address} has a field {OBJECT!r} that is not of sciret; {sidecar}")
    routed = client.call("POST", f"/{client.path}/_count", {"query": {"exists": {"field": "_routing"}}})["count"]
    if routed:
        raise StoreError(
            f"{client.address}: {routed:,} of its documents are routed, and are not found by their id alone; {sidecar}"
        )
    return index


class InPlaceWriting(Writing):
    """Updates of documents that are there."""

    def __init__(self, client: Client) -> None:
        super().__init__(client, OPTIONS, create=False)

    def count(self, index: str) -> int:
        having = {"query": {"exists": {"field": ID}}}
        return int(self._client.call("POST", f"/{quote(index)}/_count", having)["count"])

    def remove(self, index: str, ids: Sequence[str]) -> int:
        there = self._having(index, ids)
        change = {"script": {"source": _REMOVE}}
        report = self._writer(index).update((each, change) for each in there)
        if report.acknowledged:
            self._unseen = index
        if report.failures:
            reason = report.failures[0].reason
            raise StoreError(f"{self._client.address}: not everything was deleted ({reason}); run it again")
        return report.acknowledged

    @contextmanager
    def loading(self, *, initial: bool) -> Iterator[None]:
        if initial:
            raise StoreError(f"{self._client.address} is another application's index: its settings are left alone")
        yield

    def _having(self, index: str, ids: Sequence[str]) -> list[str]:
        """Those of the documents that have a paper in them."""
        found: list[str] = []
        for start in range(0, len(ids), queries.DEEPEST):
            wanted = {"ids": [document_id(each) for each in ids[start : start + queries.DEEPEST]]}
            answer = self._client.call("POST", f"/{quote(index)}/_mget", wanted, params={"_source_includes": ID})
            found += [each["_id"] for each in answer["docs"] if each.get("_source")]
        return found

    def _find(self) -> Identity | None:
        return find_in_place(self._client)

    def _send(self, index: str, documents: Iterable[tuple[str, Mapping[str, Any]]]) -> BulkReport:
        """A document that was deleted since it was read is left alone."""
        return self._writer(index).update(
            (each, {"script": {"source": _PUT, "params": {"paper": paper}}}) for each, paper in documents
        )

    def _settled(self, identity: Identity, model: str, dims: int | None) -> Identity:
        return identity if (identity.model, identity.dims) == (model, dims) else self._created(model, dims)

    def _noted(self, identity: Identity, own: Mapping[str, Any]) -> Identity:
        (index,) = inspect(self._client).indices
        meta = {**index.meta, "sciret": {**(index.meta.get("sciret") or {}), "in_place": own}}
        self._client.call("PUT", f"/{quote(identity.index)}/_mapping", {"_meta": meta})
        return Identity(identity.index, {"sciret": own})

    def _created(self, model: str, dims: int | None) -> Identity:
        """Add our object to the mapping. What the application keeps in `_meta` stays there."""
        index = check_in_place(self._client, inspect(self._client))
        own = {**index_meta(OPTIONS, model=model, dims=dims, beta=BETA), "knn": index.knn}
        ours = {**(index.meta.get("sciret") or {}), "in_place": own}
        body = {
            "_meta": {**index.meta, "sciret": ours},
            "properties": in_place_fields(OPTIONS, dims, knn=index.knn),
        }
        self._client.call("PUT", f"/{quote(index.name)}/_mapping", body)
        return Identity(index.name, {"sciret": own})


class InPlaceStore(OpenSearchStore):
    """The same store, with every field one step down."""

    def __init__(self, client: Client, **options: Any) -> None:
        super().__init__(client, **{**options, "options": OPTIONS})
        self._writing = InPlaceWriting(client)

    def _look(self) -> Identity | None:
        self._refuse_closed()
        self._known = find_in_place(self._client)
        return self._known

    def _search(self, bodies: Sequence[queries.Body]) -> list[dict[str, Any]]:
        return [taken_out(answer) for answer in super()._search([placed(body) for body in bodies])]

    def _sources(self, ids: Sequence[str], fields: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        within = [f"{OBJECT}.{field}" for field in fields]
        for start in range(0, len(ids), RECORDS):
            for each in super()._sources(ids[start : start + RECORDS], within):
                if OBJECT in each:
                    yield each[OBJECT]

    def _bodies(
        self, query: EncodedQuery, channels: Sequence[Channel], k: int, clause: Clause
    ) -> Iterator[queries.Body | None]:
        """Where the index has neither graphs nor a similarity for a channel, every paper is looked at."""
        one_by_one = [channel for channel in channels if self._looks_at_all(channel)]
        terms = count_terms(query.text) if any(is_lexical(channel) for channel in one_by_one) else {}
        words = statistics.read(terms, self._search(statistics.bodies(terms)))
        for channel in channels:
            if channel in one_by_one:
                yield exact_body(channel, query, k, clause, words)
            else:
                yield channel_body(channel, query, k, clause, neural=self._neural)

    def _looks_at_all(self, channel: Channel) -> bool:
        identity = self._index()
        graphs = identity is not None and bool(identity.own.get("knn"))
        return self._exact or channel == "tfidf" or (channel == "dense" and not graphs)
