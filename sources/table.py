"""CSV and TSV: a header row, then one record a row. Columns are recognised by their usual names or mapped by hand."""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sciret.errors import RecordError, SettingsError
from sciret.sources.fields import bare_doi
from sciret.sources.limits import LINE_BYTES
from sciret.sources.record import ALIASES, FIELDS, Record
from sciret.sources.rejects import RawText, is_not_utf8, not_utf8, refuse_raw, refuse_whole
from sciret.sources.stream import Line

_DELIMITERS = (",", ";", "\t", "|")
_QUOTED = re.compile(r'"[^"]*"')
_MAPPABLE = tuple(name for name in FIELDS if name not in ("extra", "sentences"))
_USUAL: Mapping[str, str] = {
    # Field names of Zotero, Scopus, Web of Science, PubMed, Dimensions and repository exports, letters and digits only.
    **ALIASES,
    **dict.fromkeys(("key", "identifier", "paperid", "recordid", "eid", "pmid", "publicationid"), "id"),
    **dict.fromkeys(("articletitle", "documenttitle", "papertitle"), "title"),
    **dict.fromkeys(("abstractnote", "summary"), "abstract"),
    **dict.fromkeys(("authornames", "authorfullnames", "creator", "creators"), "authors"),
    **dict.fromkeys(("publicationyear", "pubyear"), "year"),
    **dict.fromkeys(("publicationdate", "pubdate"), "date"),
    **dict.fromkeys(("keyword", "authorkeywords"), "keywords"),
    **dict.fromkeys(("journaltitle", "journalname", "sourcetitle", "publicationtitle", "booktitle"), "venue"),
    **dict.fromkeys(("link", "uri"), "url"),
    **dict.fromkeys(("itemtype", "documenttype", "publicationtype"), "type"),
    **dict.fromkeys(("lang",), "language"),
    **dict.fromkeys(("collection", "subject", "category"), "collections"),
}


class _Rows:
    """What csv.reader takes its lines from. It remembers the row's lines, so that a broken row can give them back."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = iter(lines)
        self._again: deque[Line] = deque()
        self.taken: list[Line] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else next(self._lines)
        self.taken.append(line)
        if not line.whole:
            raise csv.Error(f"the line is longer than {LINE_BYTES // 2**20} MiB")
        return line.text

    def give_back(self, start: int) -> None:
        """Let the row's lines from this one on be read again, as rows of their own."""
        self._again.extendleft(reversed(self.taken[start:]))
        del self.taken[start:]


@dataclass(frozen=True, slots=True)
class _Header:
    source: str
    format: str
    text: str
    names: Sequence[str]
    fields: Mapping[str, int]
    """Field to column; what is in the other columns goes into `extra`."""
    columns: Mapping[str, str]

    def refuse(self, lines: Sequence[Line], reason: str) -> RecordError:
        where = f"{self.source}:{lines[0].number}"
        if not lines[0].whole:
            return refuse_whole(where, reason, lines[0].data)
        text = "".join(line.text for line in lines)
        return refuse_raw(where, reason, RawText(text, self.format, self.text, self.columns))


def read(
    lines: Iterable[Line],
    source: str,
    format: str = "csv",
    columns: Mapping[str, str] | None = None,
    title_from_abstract: bool = False,
) -> Iterator[Record | RecordError]:
    """`columns` maps a field to the name of the column it is taken from, and wins over the usual names."""
    rows = _Rows(lines)
    first = _first_line(rows, source)
    if first is None:
        return
    reader = csv.reader(rows, delimiter="\t" if format == "tsv" else _sniffed(first), strict=True)
    header = _header(reader, rows, source, format, columns or {})
    _check_columns(header, title_from_abstract)
    while True:
        rows.taken.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            # If the row went on over several lines, a quote was opened and not closed: they may be rows themselves.
            rows.give_back(1)
            yield header.refuse(rows.taken, f"not a row of a table: {error}; correct its quotes")
        else:
            if any(cell.strip() for cell in cells):
                yield _record(cells, rows.taken, header)


def _record(cells: Sequence[str], lines: Sequence[Line], header: _Header) -> Record | RecordError:
    if any(is_not_utf8(cell) for cell in cells):
        return header.refuse(lines, not_utf8("".join(cells)))
    if len(cells) != len(header.names):
        reason = f"{len(cells)} cells, but the header has {len(header.names)}; add or remove cells, or quote them"
        return header.refuse(lines, reason)
    # An id or title that is empty stays: in the rejects file it is the place to fill in.
    kept = ((field, cells[i]) for field, i in header.fields.items() if cells[i].strip() or field in ("id", "title"))
    fields: dict[str, Any] = dict(kept)
    taken = header.fields.values()
    extra = {name: cells[i] for i, name in enumerate(header.names) if i not in taken and cells[i].strip()}
    if "id" not in header.fields and "doi" in fields:
        fields["id"] = bare_doi(fields["doi"])
    if extra:
        fields["extra"] = extra
    return Record(f"{header.source}:{lines[0].number}", fields)


def _first_line(rows: _Rows, source: str) -> str | None:
    """The first line that is not blank; it stays to be read."""
    try:
        text = next((text for text in rows if text.strip()), None)
    except csv.Error as error:
        raise SettingsError(f"{source}: the header is not a row of column names: {error}") from None
    rows.give_back(len(rows.taken) - 1)
    return text


def _sniffed(header: str) -> str:
    bare = _QUOTED.sub("", header)
    return max(_DELIMITERS, key=bare.count)


def _header(reader: Iterator[list[str]], rows: _Rows, source: str, format: str, columns: Mapping[str, str]) -> _Header:
    rows.taken.clear()
    try:
        names = [name.strip() or f"column {i}" for i, name in enumerate(next(reader), start=1)]
    except csv.Error as error:
        raise SettingsError(f"{source}: the header is not a row of column names: {error}") from None
    text = "".join(line.text for line in rows.taken)
    if is_not_utf8(text):
        raise SettingsError(f"{source}: the header is {not_utf8(text)}")
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise SettingsError(f"{source}: the column {repeated[0]!r} appears twice; rename one of them")
    return _Header(source, format, text, names, _mapped(names, columns, source), columns)


def _check_columns(header: _Header, title_from_abstract: bool) -> None:
    usable = {"id": ("id", "doi"), "title": ("title", "abstract") if title_from_abstract else ("title",)}
    for field, sources in usable.items():
        if not any(name in header.fields for name in sources):
            raise SettingsError(
                f"{header.source}: no column for {field} among {_listed(header.names)}; say which it is: "
                f"--column {field}=NAME"
            )


def _mapped(names: Sequence[str], columns: Mapping[str, str], source: str) -> dict[str, int]:
    """Columns mapped by hand first, then those with a field's own name, then those with a usual name."""
    chosen = {field: _position(field, column, names, source) for field, column in columns.items()}
    places: dict[str, int] = {}
    for i, name in enumerate(names):
        places.setdefault(re.sub(r"[^a-z0-9]", "", name.casefold()), i)
    own = [(name.replace("_", ""), name) for name in _MAPPABLE]
    for usual, field in (*own, *_USUAL.items()):
        if field not in chosen and usual in places and places[usual] not in chosen.values():
            chosen[field] = places[usual]
    return {field: chosen[field] for field in _MAPPABLE if field in chosen}


def _position(field: str, column: str, names: Sequence[str], source: str) -> int:
    if field not in _MAPPABLE:
        raise SettingsError(f"--column {field}={column}: no field {field!r}; there are {', '.join(_MAPPABLE)}")
    if column not in names:
        raise SettingsError(f"--column {field}={column}: {source} has no column {column!r}; it has {_listed(names)}")
    return names.index(column)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:40]) + (", …" if len(names) > 40 else "")
