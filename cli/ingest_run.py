"""One ingest from the command line: sources, encoder, store, rejects file and progress put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from sciret.cli.encoders import encoders_of
from sciret.cli.events import ingest_events
from sciret.cli.progress import progress
from sciret.cli.run_rejects import RunRejects, default_rejects
from sciret.cli.stores import open_store
from sciret.errors import RecordError, SettingsError
from sciret.paper import Paper
from sciret.retrieval.ingest import IngestReport, ingest
from sciret.settings import Settings
from sciret.sources.duplicates import SeenIds
from sciret.sources.reader import open_source
from sciret.sources.shard import Shard


@dataclass(frozen=True, slots=True)
class Reading:
    """Which records to read, and how."""

    sources: tuple[str, ...]
    format: str | None
    columns: Mapping[str, str]
    title_from_abstract: bool
    shard: Shard

    def records(self) -> Iterator[Paper | RecordError]:
        """Of one source after the other; an id that came before, in whatever source, is refused.

        A source that is not there is an error at once, not after hours of work on the one before it.
        """
        if self.sources.count("-") > 1:
            raise SettingsError("stdin (-) can be read only once; name it once")
        seen = SeenIds()
        streams = [
            open_source(
                name,
                format=self.format,
                columns=self.columns,
                title_from_abstract=self.title_from_abstract,
                seen=seen,
            )
            for name in self.sources
        ]
        return self.shard.select(chain.from_iterable(streams))


@dataclass(frozen=True, slots=True)
class Outcome:
    report: IngestReport
    store: str
    rejects: Path | None
    """Where the refused records are; None where there are none that their source does not still have."""
    reasons: list[str]
    """Why the first ones were refused."""


def run_ingest(
    reading: Reading, settings: Settings, rejects: str | None, *, strict: bool, initial_load: bool
) -> Outcome:
    """A refusal in a strict run is raised as its RecordError, after what was read before it has been written."""
    records = reading.records()
    encoders = encoders_of(settings)
    encoders.read()
    with open_store(settings, create=True, initial_load=initial_load) as store:
        encoder = encoders.for_model(store.model)
        path = Path(rejects) if rejects else default_rejects(settings.store, reading.shard)
        refused = RunRejects(path, reading.sources)
        complete = False
        try:
            with (
                progress(reading.sources, reading.shard.of) as shown,
                ingest_events(store, settings, encoder.model) as keep,
            ):

                def tell(so_far: IngestReport) -> None:
                    shown.update(so_far)
                    keep(so_far)

                report = ingest(
                    shown.watch(records),
                    encoder,
                    store,
                    on_reject=refused.add,
                    on_progress=tell,
                    strict=strict,
                )
            complete = not report.interrupted
        finally:
            where = refused.settle(complete=complete)
    return Outcome(report, settings.store, where, refused.reasons)
