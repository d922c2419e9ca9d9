"""Events of commands, where the store is on a cluster that can keep them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sciret.cli.output import warn
from sciret.retrieval.ingest import IngestReport
from sciret.settings import Settings
from sciret.store import Store

if TYPE_CHECKING:
    from sciret.cli.answer import Answer
    from sciret.connector.client import Client
    from sciret.connector.events import Value


def cluster_of(store: Store, settings: Settings) -> Client | None:
    """The store's own connection; None for a file."""
    from sciret.connector.address import is_address

    if not is_address(settings.store):
        return None
    from sciret.connector.store import OpenSearchStore

    return store.client if isinstance(store, OpenSearchStore) else None


def log_answer(store: Store, answer: Answer) -> None:
    """If that is switched on. Searches of a file of queries are evaluations and never logged."""
    if not answer.settings.query_log:
        return
    client = cluster_of(store, answer.settings)
    if client is None:
        warn("this search was not logged: only a store on OpenSearch keeps a log (SCIRET_QUERY_LOG, --log-query)")
        return
    from sciret.cli.answer import settings_record
    from sciret.connector.event_log import log_search
    from sciret.connector.events import Search

    question = answer.question
    search = Search(
        store=client.address.alias,
        text=question.text,
        like=question.like,
        sentences=tuple(question.sentences),
        aspect=question.aspect,
        model=answer.model,
        hit_ids=tuple(hit.paper.id for hit in answer.hits),
        skipped=answer.options.from_,
        top_score=answer.hits[0].score if answer.hits and not answer.options.from_ else None,
        encode_seconds=answer.encode_seconds,
        search_seconds=answer.search_seconds,
        settings=_scalars(settings_record(answer)),
    )
    log_search(client.api, search, warn)


def _scalars(record: Mapping[str, object]) -> Mapping[str, Value]:
    """Lists as one text."""
    return {
        name: " AND ".join(map(str, value)) or None if isinstance(value, list) else value  # type: ignore[misc]
        for name, value in record.items()
    }


@contextmanager
def ingest_events(store: Store, settings: Settings, model: str) -> Iterator[Callable[[IngestReport], None]]:
    """What to call with the report as it grows; how the block ended is the last event."""
    client = cluster_of(store, settings) if settings.ingest_events else None
    if client is None:
        yield lambda _report: None
        return
    from sciret.connector.event_log import IngestLog

    log = IngestLog(client.api, client.address.alias, model, warn)
    latest = IngestReport()

    def update(report: IngestReport) -> None:
        nonlocal latest
        latest = report
        log.progress(counts(report))

    try:
        yield update
    except Exception as error:
        log.end(counts(latest), error=error)
        raise
    log.end(counts(latest), interrupted=latest.interrupted)


def counts(report: IngestReport) -> Mapping[str, int]:
    return {
        "read": report.read,
        "written": report.written,
        "unchanged": report.unchanged,
        "deleted": report.deleted,
        "refused": report.rejected,
        "truncated": report.truncated,
    }
