"""RIS: a record is everything from its `TY` line to its `ER` line. Each is parsed by rispy on its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from sciret.errors import RecordError
from sciret.sources.fields import bare_doi
from sciret.sources.limits import BLOCK_CHARS
from sciret.sources.record import Record
from sciret.sources.rejects import RawText, is_not_utf8, not_utf8, refuse, refuse_raw, refuse_whole
from sciret.sources.stream import Line

_TAG = re.compile(r"([A-Z][A-Z0-9])  -[ \t]?(.*)", re.DOTALL)
_DATE = re.compile(r"([0-9]{4})(?:[/-]([0-9]{1,2})?(?:[/-]([0-9]{1,2})?(?:/.*)?)?)?")
_NAMES = {
    # Field to rispy's names of the tags, the preferred one first; a tag that is not taken goes into `extra`.
    "type": ("type_of_reference",),  # TY
    "id": ("id", "accession_number"),  # ID, AN
    "title": ("title", "primary_title"),  # TI, T1
    "abstract": ("abstract", "notes_abstract"),  # AB, N2
    "keywords": ("keywords",),  # KW
    "venue": ("secondary_title", "alternate_title3", "journal_name", "alternate_title2"),  # T2, JF, JO, JA
    "doi": ("doi",),  # DO
    "url": ("urls",),  # UR
    "language": ("language",),  # LA
}


@dataclass(slots=True)
class _Block:
    number: int
    fault: str | None = None
    whole: bool = True
    raw: list[str] = field(default_factory=list)
    tags: list[list[str]] = field(default_factory=list)
    """Each with the lines that its text goes on over."""
    _size: int = 0

    def add(self, line: Line, tag: re.Match[str] | None) -> None:
        self._size += len(line.data)
        if self._size > BLOCK_CHARS or not line.whole:
            self.whole = False
            self.fault = f"it is longer than {BLOCK_CHARS:,} characters; shorten it, or end its records with ER lines"
            return
        self.raw.append(line.text)
        if tag:
            self.tags.append([f"{tag[1]}  -", tag[2].strip()])
        elif line.text.strip():
            self.tags[-1].append(line.text.strip())

    @property
    def unfolded(self) -> str:
        """One line a tag: rispy loses track where a repeated tag goes on over several."""
        return "\n".join(" ".join(lines) for lines in self.tags)


def read(lines: Iterable[Line], source: str) -> Iterator[Record | RecordError]:
    from rispy import RisParser  # type: ignore[import-untyped]

    # UK is rispy's own name for the tags that it does not know: as a tag of a file it would upset it.
    parser = RisParser(enforce_list_tags=False, delimiter_tags_mapping={}, ignore=["UK"])
    for block in _split(lines):
        where = f"{source}:{block.number}"
        text = "".join(block.raw)
        if is_not_utf8(text):
            block.fault = not_utf8(text)
        if not block.whole:
            yield refuse_whole(where, f"not a RIS record: {block.fault}", text.encode("utf-8", "surrogateescape"))
        elif block.fault:
            yield refuse_raw(where, f"not a RIS record: {block.fault}", RawText(text, "ris"))
        else:
            yield _record(where, parser.parse(block.unfolded)[0])


def _split(lines: Iterable[Line]) -> Iterator[_Block]:
    """Text between records is left out, as exporters write who they are there; a tag outside a record is a fault."""
    block: _Block | None = None
    for line in lines:
        tag = _TAG.match(line.text)
        name = tag[1] if tag else None
        if name == "TY":
            if block:
                block.fault = block.fault or f"no ER line before the next record begins in line {line.number}"
                yield block
            block = _Block(line.number)
        elif block is None and name not in (None, "ER"):
            block = _Block(line.number, fault="it does not begin with a TY line")
        if block:
            block.add(line, tag)
            if name == "ER":
                yield block
                block = None
    if block:
        block.fault = block.fault or "no ER line before the file ends"
        yield block


def _record(where: str, entry: dict[str, Any]) -> Record | RecordError:
    record = {name: _taken(name, tags, entry) for name, tags in _NAMES.items()}
    record["authors"] = [_name(name) for name in (*entry.pop("authors", ()), *entry.pop("first_authors", ()))]
    record |= _dates(entry)
    unknown = entry.pop("unknown_tag", {})
    record["extra"] = {name: value for name, value in (entry | unknown).items() if value and value != [""]}
    fields = {name: value for name, value in record.items() if value}
    if "id" not in fields and "doi" in fields:
        fields["id"] = bare_doi(fields["doi"])
    if "id" not in fields:
        return refuse(where, "id is missing: the record has no ID, AN or DO; add one", fields)
    return Record(where, fields)


def _taken(name: str, tags: tuple[str, ...], entry: dict[str, Any]) -> Any:
    """The first tag that says something. Of several values a single-valued field has the first, the abstract all."""
    tag = next((tag for tag in tags if entry.get(tag)), None)
    if tag is None:
        return None
    value = entry.pop(tag)
    if not isinstance(value, list) or name == "keywords":
        return value
    if name == "abstract":
        return " ".join(value)
    if value[1:]:
        entry[tag] = value[1:]
    return value[0]


def _dates(entry: dict[str, Any]) -> dict[str, str]:
    """PY or Y1 is the year, and may go on as `2019/07/31/`; DA is the same where it is a date at all."""
    found: dict[str, str] = {}
    published = _taken("year", ("year", "publication_year"), entry)
    match = _DATE.fullmatch(published or "")
    if published:
        found["year"] = match[1] if match else published
    given = entry.get("date")
    day = _DATE.fullmatch(given) if isinstance(given, str) else None
    if day:
        del entry["date"]
    best = day or match
    parts = [*takewhile(lambda part: part and part.strip("0"), best.groups())] if best else []
    if day or parts[1:]:
        found["date"] = "-".join(part.zfill(2) for part in parts)
    return found


def _name(name: str) -> str:
    """`Family, Given, Suffix` to the order in which it is said."""
    family, *others = (part.strip() for part in name.split(","))
    return " ".join(part for part in (*others[:1], family, *others[1:]) if part)
