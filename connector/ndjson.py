"""Lines of a bulk request: what to do with a document, and the document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MIMETYPE = "application/x-ndjson"
_CONFLICTS = 5
"""How often the server tries an update again that somebody else's write came in between."""


class UnwritableError(ValueError):
    """A document that cannot be said in JSON and UTF-8, with the reason."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One document of a bulk request, in bytes: it is made once, however often it is sent."""

    id: str
    data: bytes


def index_entry(document_id: str, source: Mapping[str, Any]) -> Entry:
    """Insert or replace the document with this id. Always by an id of ours: sent twice, it is there once."""
    return _entry(document_id, {"index": {"_id": document_id}}, source)


def update_entry(document_id: str, change: Mapping[str, Any]) -> Entry:
    """Change the document with this id, if there is one, by a `script` or a part of it (`doc`)."""
    return _entry(document_id, {"update": {"_id": document_id, "retry_on_conflict": _CONFLICTS}}, change)


def delete_entry(document_id: str) -> Entry:
    """Remove the document with this id."""
    return _entry(document_id, {"delete": {"_id": document_id}})


def _entry(document_id: str, *lines: Mapping[str, Any]) -> Entry:
    if not document_id:
        raise UnwritableError("a document without an id")
    try:
        return Entry(document_id, "".join(f"{_json(line)}\n" for line in lines).encode())
    except UnicodeEncodeError as error:
        found = error.object[error.start]
        raise UnwritableError(f"a lone surrogate (U+{ord(found):04X}) in its text: half of a character") from None
    except ValueError:  # the only one that json raises for values of JSON's types, apart from circular references
        raise UnwritableError("a number that is not finite; JSON has none") from None


def body(entries: Iterable[Entry]) -> bytes:
    return b"".join(entry.data for entry in entries)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
