"""open_source: any file of papers, or stdin, to a stream of Papers and refusals."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from sciret.errors import RecordError, SettingsError
from sciret.paper import Paper
from sciret.sources import bibtex, jsonl, ris, table
from sciret.sources.duplicates import SeenIds
from sciret.sources.record import Record, paper_from_record
from sciret.sources.rejects import DUPLICATE, MARK, RawTextError, is_reject, raw_of, refuse, refuse_whole, without_marks
from sciret.sources.stream import Line, Lines, not_text, open_lines

FORMATS: Mapping[str, tuple[str, ...]] = {
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "bibtex": (".bib", ".bibtex"),
    "ris": (".ris",),
}
"""Format to the endings of names that mean it, each also with `.gz`."""
_BIBTEX_HEAD = re.compile(rb"\s*@\s*[A-Za-z]")
_RIS_HEAD = re.compile(rb"\s*TY  -")


def open_source(
    name: str,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    title_from_abstract: bool = False,
    seen: SeenIds | None = None,
) -> Iterator[Paper | RecordError]:
    """Papers in the order of the source, and in their place a RecordError for each record that is refused.

    `name` is a path, or `-` for stdin. `columns` applies to tables only. Give the same `seen` to every source of a
    run to refuse an id that comes twice. Raises SettingsError, before anything is read, for what cannot be read at all.
    """
    kind = format_of(name, format)
    if name != "-" and not os.path.exists(name):
        raise SettingsError(f"{name}: no such file")
    if os.path.isdir(name):
        raise SettingsError(f"{name}: a folder; name the files in it, {name.rstrip('/')}/*")
    return _papers(name, kind, columns, title_from_abstract, SeenIds() if seen is None else seen)


def format_of(name: str, format: str | None = None) -> str | None:
    """The format asked for, or the one that the name means; None for stdin, which is known by how it begins."""
    if format is not None:
        if format not in FORMATS:
            raise SettingsError(f"--format {format}: there is no such format; there are {', '.join(FORMATS)}")
        return format
    if name == "-":
        return None
    bare = name.lower().removesuffix(".gz")
    for known, endings in FORMATS.items():
        if bare.endswith(endings):
            return known
    endings = tuple(ending for each in FORMATS.values() for ending in each)
    raise SettingsError(
        f"{name}: the format cannot be told from the name ({', '.join(endings)}, each also with .gz); "
        f"say it with --format {'|'.join(FORMATS)}"
    )


def _papers(
    name: str, kind: str | None, columns: Mapping[str, str] | None, title_from_abstract: bool, seen: SeenIds
) -> Iterator[Paper | RecordError]:
    source = "stdin" if name == "-" else name
    with open_lines(name) as lines:
        if what := not_text(lines.head):
            yield refuse_whole(f"{source}:1", f"the file is {what}")
            return
        for found in _records(lines, kind or _sniffed(lines.head), source, columns, title_from_abstract):
            yield found if isinstance(found, RecordError) else _admitted(found, title_from_abstract, seen)
        if lines.broken:
            yield refuse_whole(f"{source}:{lines.number + 1}", lines.broken)


def _sniffed(head: bytes) -> str:
    """Only what is certain: nothing but BibTeX and RIS begins like this. A table's header could be anything."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    if _BIBTEX_HEAD.match(head):
        return "bibtex"
    return "ris" if _RIS_HEAD.match(head) else "jsonl"


def _admitted(record: Record, title_from_abstract: bool, seen: SeenIds) -> Paper | RecordError:
    paper = paper_from_record(record, title_from_abstract=title_from_abstract)
    if isinstance(paper, RecordError):
        return paper
    if paper.id == record.duplicate_of or not seen.add(paper.id):
        reason = (
            f"the id {paper.id!r} came before and the first record was kept; give this one another id, or delete it"
        )
        return refuse(record.where, reason, {**record.fields, DUPLICATE: paper.id})
    return paper


def _records(
    lines: Iterable[Line], kind: str, source: str, columns: Mapping[str, str] | None, title_from_abstract: bool
) -> Iterator[Record | RecordError]:
    match kind:
        case "jsonl":
            return _reopened(jsonl.read(lines, source), title_from_abstract)
        case "bibtex":
            return bibtex.read(lines, source)
        case "ris":
            return ris.read(lines, source)
        case _:
            return table.read(lines, source, kind, columns, title_from_abstract)


def _reopened(records: Iterable[Record | RecordError], title_from_abstract: bool) -> Iterator[Record | RecordError]:
    """Lines of a rejects file are the records they were made of: as corrected, or to be refused again."""
    for record in records:
        if isinstance(record, RecordError) or not is_reject(record.fields):
            yield record
        elif fields := without_marks(record.fields):
            duplicate = record.fields.get(DUPLICATE)
            yield Record(record.where, fields, duplicate if isinstance(duplicate, str) else None)
        else:
            yield from _read_again(record, title_from_abstract)


def _read_again(record: Record, title_from_abstract: bool) -> Iterator[Record | RecordError]:
    """The text that was no record, in its own format; what comes of it is where the rejects file's line is."""
    kept = {name: value for name, value in record.fields.items() if name != MARK}
    try:
        raw = raw_of(kept, FORMATS)
        lines = Lines(iter([raw.before_and_text.encode("utf-8", "surrogateescape")]))
        found = list(_records(lines, raw.format, record.where, raw.columns, title_from_abstract))
    except (RawTextError, SettingsError) as error:
        yield refuse(record.where, str(error), kept)
        return
    if not found:
        yield refuse(record.where, "its text holds no record; correct it, or delete the line", kept)
    for each in found:
        if isinstance(each, Record):
            yield Record(record.where, each.fields)
        else:
            yield RecordError(record.where, each.reason, each.raw, each.record_id)
