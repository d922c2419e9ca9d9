"""Writes events. Whoever searches or ingests must not suffer from it: a failure is a warning, and the last try."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from time import monotonic
from uuid import uuid4

from opensearchpy import OpenSearch
from opensearchpy.exceptions import NotFoundError, OpenSearchException, RequestError

from sciret.connector.events import COUNTS, Event, Search, Stretch, ingest_event, search_event
from sciret.errors import SciretError
from sciret.mappings.events import INGEST_EVENTS, OWN, UBI_QUERIES, event_template, own_mapping

TIMEOUT = 5.0
"""Seconds that a request for an event may take."""
EVERY = 30.0
"""Seconds between the events of a long ingest."""


class EventLog:
    """One index of events on a cluster, made at the first event."""

    def __init__(self, client: OpenSearch, index: str, on_failure: Callable[[str], None]) -> None:
        self._client, self._index, self._on_failure = client, index, on_failure
        self._ready = self._failed = False

    def write(self, event: Event) -> None:
        if self._failed:
            return
        try:
            if not self._ready:
                prepare_index(self._client, self._index)
                self._ready = True
            self._client.index(index=self._index, body=event, request_timeout=TIMEOUT)
        except (OpenSearchException, SciretError, OSError) as error:
            self._failed = True
            self._on_failure(f"no event was written to {self._index} ({reason(error)}); the command itself goes on")


def prepare_index(client: OpenSearch, index: str) -> None:
    """An index that is there is used as it is; what is ours and not in its mapping yet is added."""
    try:
        found = client.indices.get_mapping(index=index, request_timeout=TIMEOUT)
    except NotFoundError:
        _create(client, index)
        return
    if any(OWN not in each["mappings"].get("properties", {}) for each in found.values()):
        client.indices.put_mapping(index=index, body=own_mapping(index), request_timeout=TIMEOUT)


def _create(client: OpenSearch, index: str) -> None:
    """Not by a template on the cluster: whoever ingests may make this index, but need not be allowed templates."""
    try:
        client.indices.create(index=index, body=event_template(index)["template"], request_timeout=TIMEOUT)
    except RequestError as error:
        if error.error != "resource_already_exists_exception":  # another process was quicker
            raise


def reason(error: Exception) -> str:
    """Short: the server's own word and code where it gave one."""
    if isinstance(error, OpenSearchException) and len(error.args) > 1:
        return f"{error.args[0]}: {error.args[1]}"
    return str(error) or type(error).__name__


def log_search(client: OpenSearch, search: Search, on_failure: Callable[[str], None]) -> None:
    EventLog(client, UBI_QUERIES, on_failure).write(search_event(search, datetime.now(UTC)))


class IngestLog:
    """The events of one ingest: one every half minute, and one at its end."""

    def __init__(
        self,
        client: OpenSearch,
        store: str,
        model: str,
        on_failure: Callable[[str], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._log = EventLog(client, INGEST_EVENTS, on_failure)
        self._store, self._model, self._run, self._clock = store, model, uuid4().hex, clock
        self._told: Mapping[str, int] = dict.fromkeys(COUNTS, 0)
        self._since = clock()

    def progress(self, counts: Mapping[str, int]) -> None:
        """Counts since the beginning, as often as they change."""
        if self._clock() - self._since >= EVERY:
            self._log.write(ingest_event(self._stretch(counts), datetime.now(UTC)))

    def end(self, counts: Mapping[str, int], *, interrupted: bool = False, error: Exception | None = None) -> None:
        outcome = "failure" if error else "unknown" if interrupted else "success"
        self._log.write(ingest_event(self._stretch(counts), datetime.now(UTC), outcome, error))

    def _stretch(self, counts: Mapping[str, int]) -> Stretch:
        now = self._clock()
        new = {name: counts[name] - self._told[name] for name in COUNTS}
        stretch = Stretch(self._run, self._store, self._model, new, now - self._since)
        self._told, self._since = dict(counts), now
        return stretch
