"""EmbeddedStore: the Store protocol on one SQLite file and numpy. No server, exact scores, to some 200,000 papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import TracebackType

from sciret.embedded import postings, schema, writer
from sciret.embedded.completion import complete
from sciret.embedded.database import Database
from sciret.embedded.filters import HIDDEN
from sciret.embedded.index import Index
from sciret.embedded.records import ids_as_json, read, to_row
from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.encoders.sparse_side import shares
from sciret.errors import QueryError, WrongModelError
from sciret.storable import dims_of
from sciret.store import CHANNELS, Channel, Completed, Scope, Sparse

_FIGURES = f"""
SELECT
    (SELECT count(*) FROM papers) AS papers,
    (SELECT count(*) FROM papers) - (SELECT count(*) FROM facets WHERE {HIDDEN}) AS searchable,
    (SELECT coalesce(sum(sentences), 0) FROM papers) AS sentences,
    (SELECT coalesce(sum(words), 0) FROM papers) AS words,
    (SELECT count(*) FROM (SELECT DISTINCT channel, feature FROM postings WHERE channel <> '{postings.FACET}'))
        AS features,
    {postings.counted(postings.TOKENS)} AS tokens,
    {postings.counted(postings.KEYPHRASES)} AS keyphrases,
    (SELECT min(year) FROM facets) AS first_year,
    (SELECT max(year) FROM facets) AS last_year,
    model, dims FROM state
"""  # noqa: S608  # the condition's value is bound


class EmbeddedStore:
    """Any number of threads and processes may read while one writes; writers wait for each other."""

    def __init__(self, database: Database, today: Callable[[], date]) -> None:
        self._database = database
        self._today = today
        self._index = Index(today)

    @classmethod
    def open(cls, path: str | Path, *, create: bool = False, today: Callable[[], date] = date.today) -> EmbeddedStore:
        """Nothing is loaded before the first search. Without `create`, a file that is not there is an error."""
        return cls(Database(Path(path), create=create), today)

    def __enter__(self) -> EmbeddedStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def model(self) -> str | None:
        with self._database.reading() as connection:
            model: str | None = connection.execute("SELECT model FROM state").fetchone()[0]
        return model

    @property
    def channels(self) -> Sequence[Channel]:
        """CASPER only where papers have features: not in a store that was filled before there were any."""
        with self._database.reading() as connection:
            learned = postings.has(connection, postings.TOKENS, postings.KEYPHRASES)
        return CHANNELS if learned else tuple(channel for channel in CHANNELS if channel != "casper")

    def hashes(self, ids: Sequence[str]) -> Mapping[str, str]:
        known = "SELECT id, hash FROM papers WHERE id IN (SELECT value FROM json_each(?))"
        with self._database.reading() as connection:
            return dict(connection.execute(known, (ids_as_json(ids),)))

    def write(self, papers: Sequence[EncodedPaper]) -> int:
        """Of papers with the same id the last one counts."""
        latest = {paper.paper.id: paper for paper in papers}
        if not latest:
            return 0
        rows = [to_row(paper) for paper in latest.values()]  # before the lock is taken: it is most of the work
        with self._database.writing() as connection:
            stored, dims = connection.execute("SELECT model, dims FROM state").fetchone()
            model = stored or papers[0].model
            for paper in latest.values():
                if paper.model != model:
                    raise WrongModelError(str(self._database.path), model, paper.model)
            connection.execute("UPDATE state SET model = ?, dims = ?", (model, dims_of(latest.values(), dims)))
            writer.put(connection, rows)
        return len(rows)

    def delete(self, ids: Sequence[str]) -> int:
        with self._database.writing() as connection:
            return writer.remove(connection, ids)

    def get(self, ids: Sequence[str]) -> Mapping[str, EncodedPaper]:
        with self._database.reading() as connection:
            papers = read(connection, ids)
        return {paper.id: paper.decode() for paper in papers}

    def candidates(self, query: EncodedQuery, channels: Sequence[Channel], k: int, scope: Scope) -> Sequence[str]:
        """Channel by channel, best first, equal scores by id; or `scope.ids` in their order."""
        if k < 1:
            raise QueryError(f"{k} candidates were asked for: ask for at least 1")
        with self._database.reading() as connection:
            return self._index.candidates(self._index.snapshot(connection), query, channels, k, scope)

    def complete(self, query: EncodedQuery, ids: Sequence[str], sparse: Sparse | None, *, sentences: bool) -> Completed:
        with self._database.reading() as connection:
            snapshot = self._index.snapshot(connection)
            weighed = shares(sparse).items()
            found = [(self._index.contributions(snapshot, query, channel), share) for channel, share in weighed]
            return complete(snapshot, query, ids, found, sentences=sentences)

    def stats(self) -> Mapping[str, int | str | None]:
        with self._database.reading() as connection:
            figures = connection.execute(_FIGURES, (self._today().isoformat(),))
            names = [column[0] for column in figures.description]
            counted = dict(zip(names, figures.fetchone(), strict=True))
        return {**counted, "schema": schema.VERSION, "bytes": self._database.bytes_on_disk()}

    def hurry(self) -> None:
        """A file answers at once."""

    def close(self) -> None:
        self._database.close()
