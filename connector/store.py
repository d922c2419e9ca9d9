"""OpenSearchStore: the Store protocol on an alias of a cluster. A search is two round trips: candidates, records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import date
from types import TracebackType
from typing import Any

from sciret.connector import learned, queries, statistics
from sciret.connector.address import Address
from sciret.connector.backoff import Patience
from sciret.connector.candidates import channel_body, exact_body, is_lexical, needs_vectors, vectors_of
from sciret.connector.client import Client, connect
from sciret.connector.completion import FIELDS, complete
from sciret.connector.credentials import Credentials
from sciret.connector.documents import RECORD_FIELDS, document_id, to_paper
from sciret.connector.failures import MissingIndexError, RefusedRequestError
from sciret.connector.filters import Clause, admitted
from sciret.connector.identity import Identity, find_identity
from sciret.connector.server import NEURAL
from sciret.connector.statistics import Words
from sciret.connector.writing import Writing
from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.encoders.analysis import count_terms
from sciret.encoders.sparse_side import shares
from sciret.errors import QueryError, StoreError, WrongModelError
from sciret.mappings.options import IndexOptions
from sciret.storable import is_id
from sciret.store import CHANNELS, Channel, Completed, Scope, Sparse

RECORDS = 1000
"""Papers fetched at once: some 12 MB of text and vectors."""


class OpenSearchStore:
    """Any number of threads and processes may read and write."""

    def __init__(
        self,
        client: Client,
        *,
        create: bool = False,
        exact: bool = False,
        refresh: bool = True,
        options: IndexOptions | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        self._client, self._exact, self._refresh, self._today = client, exact, refresh, today
        self._options = options or IndexOptions()
        self._writing = Writing(client, self._options, create=create)
        self._known: Identity | None = None
        """The index when it was last looked at."""
        self._filled = False
        """Whether it had papers then."""
        self._closed = False

    @classmethod
    def open(
        cls,
        name: str | Address,
        *,
        credentials: Credentials | None = None,
        create: bool = False,
        exact: bool = False,
        refresh: bool = True,
        patience: Patience | None = None,
        options: IndexOptions | None = None,
        today: Callable[[], date] = date.today,
    ) -> OpenSearchStore:
        """An index that is not there is an error, or with `create` made by the first write, when its vectors are known.

        `exact` finds candidates by scores of all papers. Without `refresh` papers are found some time after a write,
        and at the latest after `close`. With `patience` a cluster that answered once is waited for when it stops to.
        """
        client = connect(name if isinstance(name, Address) else Address.parse(name), credentials)
        store = cls(client, create=create, exact=exact, refresh=refresh, options=options, today=today)
        try:
            if store._look() is None and not create:
                address = client.address
                raise MissingIndexError(f"no index {address.alias!r} at {address.url}: `sciret ingest` makes one")
        except BaseException:
            store.close()
            raise
        client.patience = patience
        return store

    def __enter__(self) -> OpenSearchStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def client(self) -> Client:
        """The connection, for what goes beside the papers: events."""
        return self._client

    @property
    def model(self) -> str | None:
        """Asked of the server until there is a paper; from then on every answer tells whether it is still the same."""
        if not self._filled:
            identity = self._look()
            self._filled = identity is not None and self._writing.count(identity.index) > 0
        return self._known.model if self._known and self._filled else None

    @property
    def channels(self) -> Sequence[Channel]:
        identity, missing = self._index(), set[Channel]()
        if not (identity.sentences if identity else self._options.sentences):
            missing.add("sentence")
        if not (identity and identity.learned):
            missing.add("casper")
        return tuple(channel for channel in CHANNELS if channel not in missing)

    def hashes(self, ids: Sequence[str]) -> Mapping[str, str]:
        return {source["id"]: source["content_hash"] for source in self._sources(ids, ("id", "content_hash"))}

    def write(self, papers: Sequence[EncodedPaper]) -> int:
        """Of papers with the same id the last one counts. Nothing is sent unless every one can be kept."""
        self._refuse_closed()
        latest = list({paper.paper.id: paper for paper in papers}.values())
        if not latest:
            return 0
        try:
            self._known = self._writing.put(latest)
        finally:
            if self._refresh:
                self._writing.show()  # also where some were refused
        self._filled = True
        return len(latest)

    def delete(self, ids: Sequence[str]) -> int:
        """What is not there is not sent: the server would keep a mark of every id that it is told to delete."""
        identity = self._look()
        there = [source["id"] for source in self._sources(ids, ("id",))]
        if identity is None or not there:
            return 0
        removed = self._writing.remove(identity.index, there)
        if removed:
            self._filled = False  # those may have been all
            if self._refresh:
                self._writing.show()
        return removed

    def get(self, ids: Sequence[str]) -> Mapping[str, EncodedPaper]:
        sources = list(self._sources(ids, RECORD_FIELDS))
        if self._known and any(source["model"] != self._known.model for source in sources):
            self._look()  # another version is live by now: who searches by these papers must know its model
        return {source["id"]: to_paper(source) for source in sources}

    def candidates(self, query: EncodedQuery, channels: Sequence[Channel], k: int, scope: Scope) -> Sequence[str]:
        """Channel by channel, best first; or `scope.ids` in their order."""
        if not 1 <= k <= queries.DEEPEST:
            raise QueryError(f"{k} candidates were asked for: ask for at least 1 and at most {queries.DEEPEST:,}")
        identity = self._index()
        if scope.ids is not None:
            return self._chosen(scope.ids, admitted(scope, self._today())) if identity else ()
        clause = admitted(scope, self._today(), but=query.like if is_id(query.like or "") else None)
        for channel in channels:
            if needs_vectors(channel):
                vectors_of(query, channel)
        if identity is None:
            return ()
        searched = [channel for channel in channels if not needs_vectors(channel) or identity.dims is not None]
        with self._following(query):
            found = self._found(query, searched, k, clause)
            return tuple(dict.fromkeys(paper_id for channel in searched for paper_id in found[channel]))

    def complete(self, query: EncodedQuery, ids: Sequence[str], sparse: Sparse | None, *, sentences: bool) -> Completed:
        """The records, and beside them in the same request what the query's words are worth."""
        wanted = _unique(ids) if self._index() else []
        terms = count_terms(query.text) if wanted and any(map(is_lexical, shares(sparse))) else {}
        counting = statistics.bodies(terms)
        sources: dict[str, Mapping[str, Any]] = {}
        words: Words | None = None
        for batch in _batches(wanted, RECORDS):
            answers = self._search([queries.records(batch, FIELDS), *counting])
            sources.update((hit["_source"]["id"], hit["_source"]) for hit in answers[0]["hits"]["hits"])
            if counting:
                words, counting = statistics.read(terms, answers[1:]), []
        found = [sources[paper_id] for paper_id in wanted if paper_id in sources]
        self._check_models(found, query)
        return complete(found, query, words, sparse, sentences=sentences)

    def stats(self) -> Mapping[str, int | str | None]:
        identity = self._look()
        if identity is None:
            return {"papers": 0, "searchable": 0, "model": None, "index": None, "bytes": 0}
        (answer,) = self._search([queries.figures(self._today())])
        figures, papers = answer["aggregations"], int(answer["hits"]["total"]["value"])
        size = self._client.call("GET", f"/{self._client.path}/_stats/store")["_all"]["total"]["store"]["size_in_bytes"]
        return {
            "papers": papers,
            "searchable": figures["searchable"]["doc_count"],
            **{name: int(figures[name]["value"]) for name in ("sentences", "words")},
            **{name: _year(figures[name]["value"]) for name in ("first_year", "last_year")},
            "model": identity.model if papers else None,
            "dims": identity.dims if papers else None,
            "schema": identity.own["schema"],
            "index": identity.index,
            "server": self._client.server.number,
            "bytes": size,
        }

    def loading(self, *, initial: bool = False) -> AbstractContextManager[None]:
        """For the many writes of an ingest: see `Writing.loading`."""
        self._refuse_closed()
        return self._writing.loading(initial=initial)

    def hurry(self) -> None:
        if self._client.patience:
            self._client.patience.over.set()

    def close(self) -> None:
        if not self._closed:
            self._client.patience = None
            with suppress(StoreError):  # then they are found a little later; there may be worse to be told
                self._writing.show()
        self._closed = True
        self._client.close()

    def _found(
        self, query: EncodedQuery, channels: Sequence[Channel], k: int, clause: Clause
    ) -> Mapping[Channel, Sequence[str]]:
        """Of each channel, best first."""
        one_by_one = {"casper"} & {*channels} if self._exact else set()
        asked = [channel for channel in channels if channel not in one_by_one]
        bodies = list(self._bodies(query, asked, k, clause))
        answers = iter(self._search([body for body in bodies if body]))
        found: dict[Channel, Sequence[str]] = {
            channel: queries.found_ids(next(answers)) if body else ()
            for channel, body in zip(asked, bodies, strict=True)
        }
        if one_by_one:
            found["casper"] = learned.exact_best(query, k, clause, self._search)
        return found

    @property
    def _neural(self) -> bool:
        return self._client.server.has(NEURAL)

    def _bodies(
        self, query: EncodedQuery, channels: Sequence[Channel], k: int, clause: Clause
    ) -> Iterator[queries.Body | None]:
        if not self._exact:
            yield from (channel_body(channel, query, k, clause, neural=self._neural) for channel in channels)
            return
        terms = count_terms(query.text) if any(is_lexical(channel) for channel in channels) else {}
        # The scores of all papers need the statistics before they are asked for: exactness costs a round trip.
        words = statistics.read(terms, self._search(statistics.bodies(terms)))
        yield from (exact_body(channel, query, k, clause, words) for channel in channels)

    def _chosen(self, ids: Sequence[str], clause: Clause) -> Sequence[str]:
        wanted = _unique(ids)
        bodies = [queries.chosen(batch, clause) for batch in _batches(wanted, queries.DEEPEST)]
        found = {paper_id for answer in self._search(bodies) for paper_id in queries.found_ids(answer)}
        return tuple(paper_id for paper_id in wanted if paper_id in found)

    def _sources(self, ids: Sequence[str], fields: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """In the order given, also of papers that are written but not yet refreshed."""
        if self._index() is None:
            return
        options = {"_source_includes": ",".join(fields)}
        for batch in _batches(_unique(ids), RECORDS if "vectors" in fields else queries.DEEPEST):
            wanted = {"ids": [document_id(paper_id) for paper_id in batch]}
            answer = self._client.call("POST", f"/{self._client.path}/_mget", wanted, params=options)
            for each in answer["docs"]:
                if "error" in each:
                    reason = each["error"].get("reason")
                    raise StoreError(f"{self._client.address}: {reason}; see `sciret index status`")
                if each["found"]:
                    yield each["_source"]

    def _search(self, bodies: Sequence[queries.Body]) -> list[dict[str, Any]]:
        self._refuse_closed()
        if not bodies:
            return []
        return self._client.msearch(bodies)

    def _index(self) -> Identity | None:
        """As it was last seen: searching need not look first."""
        self._refuse_closed()
        return self._known or self._look()

    def _look(self) -> Identity | None:
        self._refuse_closed()
        self._known = find_identity(self._client)
        return self._known

    # A migration may put another version behind the alias between any two requests. What counts is the query at hand:
    # another thread may have noticed already, and what the store knows by now says nothing about this search.

    @contextmanager
    def _following(self, query: EncodedQuery) -> Iterator[None]:
        """A request that the server refuses may be for another version, with vectors of another length."""
        try:
            yield
        except RefusedRequestError:
            identity = self._look()
            if identity and identity.model not in (None, query.model):
                raise WrongModelError(str(self._client.address), identity.model or "", query.model) from None
            raise

    def _check_models(self, sources: Sequence[Mapping[str, Any]], query: EncodedQuery) -> None:
        """Refuse to compare the query with papers of another model."""
        others = {source["model"] for source in sources} - {query.model}
        if not others:
            return
        identity = self._look()
        if identity and identity.model == query.model:
            raise StoreError(f"{self._client.address} holds papers of another model than it says; ingest them again")
        raise WrongModelError(str(self._client.address), min(others), query.model)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError(f"{self._client.address} was closed; open it again")


def _unique(ids: Sequence[str]) -> list[str]:
    """Each once, without those that no paper can have."""
    return [paper_id for paper_id in dict.fromkeys(ids) if is_id(paper_id)]


def _batches(ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))


def _year(value: float | None) -> int | None:
    return None if value is None else int(value)
