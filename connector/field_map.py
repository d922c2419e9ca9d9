"""FieldMap: documents of somebody's index as papers, by the paths that their fields are at."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sciret.connector.documents import document_id
from sciret.connector.reader import Document
from sciret.errors import RecordError, SettingsError
from sciret.paper import Paper
from sciret.sources.record import FIELDS, Record, paper_from_record
from sciret.sources.rejects import refuse
from sciret.store import LISTS

MAPPABLE = tuple(name for name in FIELDS if name not in ("id", "extra", "sentences"))
"""A paper's id is always the document's `_id`."""
_JOINTS = {"title": ": ", "abstract": ". "}
"""Between the parts of a text that came in several, where they do not end in a mark of their own."""
_ENDS = tuple(".:;,!?…-–—")
_DATE = re.compile(r"([0-9]{4})[-/.]")


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Field of a paper to the path of its value in a document: `year` to `pub.year`."""

    paths: Mapping[str, str]

    @classmethod
    def of(cls, title: str, abstract: str | None, others: Mapping[str, str]) -> FieldMap:
        """`others` may name any field of a paper but its id."""
        for name in others:
            if name in ("title", "abstract"):
                raise SettingsError(f"--field {name}=…: say it with --{name}")
            if name not in MAPPABLE:
                raise SettingsError(f"--field {name}=…: papers have no such field; there are {', '.join(MAPPABLE)}")
        paths = {"title": title, **({"abstract": abstract} if abstract else {}), **others}
        for name, path in paths.items():
            if not all(path.split(".")):
                raise SettingsError(f"{path!r} cannot be the path of {name}: write it like pub.year")
        return cls(dict(sorted(paths.items())))

    @property
    def source_fields(self) -> list[str]:
        """What must be read of a document."""
        return list(dict.fromkeys(self.paths.values()))

    def paper(self, document: Document, *, title_from_abstract: bool = False) -> Paper | RecordError:
        """The id is the document's, letter by letter: where that cannot be, the document is refused."""
        where = f"{document.index}/{document.id}"
        fields = {name: value for name, path in self.paths.items() if (value := self._value(name, path, document))}
        paper = paper_from_record(Record(where, {"id": document.id, **fields}), title_from_abstract=title_from_abstract)
        if isinstance(paper, Paper) and not paper.id == document.id == document_id(paper.id):
            reason = "its _id has spaces or letters that sciret would write otherwise; give the document another one"
            return refuse(where, reason, {"id": document.id, **fields})
        return paper

    @staticmethod
    def _value(name: str, path: str, document: Document) -> Any:
        found = value_at(document.source, path)
        if name in LISTS:
            # One text may hold several ("a; b"), as in a table; the texts of a list are taken as they are.
            return found if isinstance(found, str | list) or found is None else [found]
        values = [value for value in (found if isinstance(found, list) else [found]) if value not in (None, "")]
        if name in _JOINTS:
            return joined(values, _JOINTS[name])
        first = values[0] if values else None
        if name in ("date", "embargo_end", "year"):
            return _dated(name, first)
        return str(first) if type(first) in (int, float) else first


def value_at(source: Any, path: str) -> Any:
    """What a document has at a path: a value, a list where any part of the way is one, or None.

    As OpenSearch reads it: `a.b` is the b of an object a, of each object of a list a, or a field that is so called.
    """
    found, listed = _values(source, path.split("."))
    if listed:
        return found
    return found[0] if found else None


def _values(value: Any, parts: Sequence[str]) -> tuple[list[Any], bool]:
    if isinstance(value, list):
        return [each for item in value for each in _values(item, parts)[0]], True
    if not parts:
        return ([] if value is None else [value]), False
    found: list[Any] = []
    listed = False
    if isinstance(value, Mapping):
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            if name in value:
                more, several = _values(value[name], parts[count:])
                found += more
                listed = listed or several
    return found, listed


def joined(values: Sequence[Any], joint: str) -> Any:
    """The parts as one text. A single value stays what it is, unless it is a number: a title may be `1984`."""
    texts = [str(value) if type(value) in (int, float) else value for value in values]
    if len(texts) < 2 or not all(isinstance(text, str) for text in texts):
        return texts[0] if texts else None
    parts = [text.strip() for text in texts if text.strip()]
    ended = [part + (" " if part.endswith(_ENDS) else joint) for part in parts[:-1]]
    return "".join([*ended, *parts[-1:]])


def _dated(name: str, value: Any) -> Any:
    """Dates as OpenSearch takes them by default: ISO 8601, or milliseconds since 1970. A date has a year, too."""
    if type(value) is int and abs(value) > 9999:
        try:
            value = datetime.fromtimestamp(value / 1000, UTC).date().isoformat()
        except (OverflowError, OSError, ValueError):
            return value  # whatever it is, it will be refused as what it is
    elif name != "year" and type(value) is int:
        value = str(value)
    if name == "year" and isinstance(value, str) and (match := _DATE.match(value.strip())):
        return int(match[1])
    return value
