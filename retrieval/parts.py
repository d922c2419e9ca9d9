"""An ingest of a long source in parts, so that whoever reads it can write down how far it got."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from itertools import islice

from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.retrieval.ingest import IngestReport, PaperEncoder, ingest
from sciret.store import Store

PART = 5000
"""Records: a run that is killed reads at most so many again."""


def ingest_in_parts(
    records: Iterable[Paper | RecordError],
    encoder: PaperEncoder,
    store: Store,
    *,
    on_settled: Callable[[bool], None],
    on_reject: Callable[[RecordError], None],
    on_progress: Callable[[IngestReport], None],
    size: int = PART,
) -> IngestReport:
    """As `ingest`. `on_settled` is called when all that was read so far is acknowledged; True says that it was all."""
    stream = iter(records)
    total = IngestReport()
    while True:
        done = total
        part = ingest(
            islice(stream, size),
            encoder,
            store,
            on_reject=on_reject,
            on_progress=lambda report, done=done: on_progress(added(done, report)),  # type: ignore[misc]
        )
        total = added(done, part)
        if part.interrupted:
            return total
        complete = part.read < size
        on_settled(complete)
        if complete:
            return total


def added(first: IngestReport, second: IngestReport) -> IngestReport:
    """Both as one: counts together, from the start of the first to the end of the second."""
    names = [field.name for field in fields(IngestReport) if field.type == "int"]
    counts = {name: getattr(first, name) + getattr(second, name) for name in names}
    return IngestReport(
        **counts, interrupted=second.interrupted, started=first.started or second.started, ended=second.ended
    )
