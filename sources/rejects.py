"""Refused records: what is kept of them, the file they go into, and the way back in. docs/formats.md describes it."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sciret.errors import RecordError, SettingsError
from sciret.sources.limits import BEGINNING_BYTES, LINE_BYTES

MARK = "_rejected"
DUPLICATE = "_duplicate_of"
_RAW, _BASE64, _FORMAT, _BEFORE, _COLUMNS = "_raw", "_raw_base64", "_format", "_before", "_columns"
_BEGINNING = "_beginning"
RESERVED = frozenset((MARK, DUPLICATE, _RAW, _BASE64, _FORMAT, _BEFORE, _COLUMNS, _BEGINNING))
_NEWLINES = "\r\n"
_ROOM = 64 * 1024  # for `_rejected`, so that a line of the rejects file is never longer than a line may be


@dataclass(frozen=True, slots=True)
class RawText:
    """A piece of a source that could not be read as a record, and what is needed to read it again."""

    text: str
    """Bytes that are not UTF-8 stand in it as Python's surrogate escapes."""
    format: str
    before: str = ""
    """What must stand before it: a table's header, the @string definitions that a BibTeX entry uses."""
    columns: Mapping[str, str] | None = None
    """The column mapping a table was read with."""

    @property
    def before_and_text(self) -> str:
        return f"{self.before.rstrip(_NEWLINES)}\n{self.text}" if self.before else self.text


class RawTextError(ValueError):
    """A line of a rejects file that cannot be read again."""


def refuse(where: str, reason: str, record: Mapping[str, Any]) -> RecordError:
    """Refuse a record whose fields are known: they go into the rejects file as a JSON Lines record."""
    given = record.get("id")
    return RecordError(where, reason, _packed(record), given if isinstance(given, str) else None)


def refuse_raw(where: str, reason: str, raw: RawText) -> RecordError:
    """Refuse what is not a record: its text goes into the rejects file, its bytes where they are not UTF-8."""
    kept: dict[str, Any] = {_RAW: raw.text, _FORMAT: raw.format}
    if is_not_utf8(raw.text):
        data = raw.text.encode("utf-8", "surrogateescape")
        kept = {_BASE64: base64.b64encode(data).decode("ascii"), _FORMAT: raw.format}
    if raw.before:
        kept[_BEFORE] = raw.before
    if raw.columns:
        kept[_COLUMNS] = dict(raw.columns)
    return RecordError(where, reason, _packed(kept))


def refuse_whole(where: str, reason: str, beginning: bytes = b"") -> RecordError:
    """Refuse what is too long, or too broken, to be kept: the rejects file shows its beginning."""
    shown = beginning[:BEGINNING_BYTES].decode("utf-8", "replace")
    return RecordError(where, reason, _packed({_BEGINNING: shown}))


def not_utf8(text: str) -> str:
    """The reason, for a text that was decoded with surrogate escapes."""
    byte = next(ord(c) - 0xDC00 for c in text if "\udc80" <= c <= "\udcff")
    return f"not UTF-8 (byte 0x{byte:02x}); convert the file, for instance: iconv -f ISO-8859-1 -t UTF-8"


def is_not_utf8(text: str) -> bool:
    """Whether bytes had to be escaped when the text was decoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _packed(content: Mapping[str, Any]) -> str:
    packed = _json(content)
    if len(packed.encode()) > LINE_BYTES - _ROOM:
        return json.dumps({_BEGINNING: packed[:BEGINNING_BYTES]})
    return packed


def _json(content: Mapping[str, Any]) -> str:
    """To be read and corrected by people, so in plain characters; only lone surrogates stay the escapes they were."""
    text = json.dumps(content, ensure_ascii=False)
    return json.dumps(content) if is_not_utf8(text) else text


def is_reject(fields: Mapping[str, Any]) -> bool:
    return MARK in fields


def without_marks(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in RESERVED}


def raw_of(fields: Mapping[str, Any], formats: Collection[str]) -> RawText:
    """The text that a line without fields of its own was made of."""
    if _BEGINNING in fields:
        raise RawTextError("only the beginning of this record was kept; correct it in its source, or write its fields")
    texts = [fields.get(name, "") for name in (_RAW, _BASE64, _FORMAT, _BEFORE)]
    columns = fields.get(_COLUMNS, {})
    if not isinstance(columns, dict) or not all(isinstance(text, str) for text in (*texts, *columns.values())):
        raise RawTextError(f"{_RAW}, {_BASE64}, {_FORMAT} and {_BEFORE} must be texts, {_COLUMNS} an object of texts")
    text, encoded, format_name, before = texts
    if format_name not in formats:
        raise RawTextError(f"{_FORMAT} {format_name!r} is not one of {', '.join(formats)}")
    if is_not_utf8(text + before):
        raise RawTextError(f"{_RAW} holds a lone surrogate: half of a character; replace or remove it")
    if not text:
        try:
            text = base64.b64decode(encoded, validate=True).decode("utf-8", "surrogateescape")
        except ValueError:
            raise RawTextError(f"{_BASE64} is not base64; put the corrected text into {_RAW} instead") from None
    return RawText(text, format_name, before, columns)


class RejectsFile:
    """Appends one line a refusal; made at the first. Each line is one write, so two runs may share a file."""

    def __init__(self, path: str | Path, sources: Sequence[str] = ()) -> None:
        self.path = Path(path)
        self.count = 0
        self._file: int | None = None
        if self.path.is_dir() or not self.path.parent.is_dir():
            raise SettingsError(f"--rejects {self.path}: not a file in a folder that exists; name another file")
        for source in sources:
            if self.path.exists() and os.path.exists(source) and self.path.samefile(source):
                raise SettingsError(f"--rejects {self.path} is also a source of this run; name another file")

    def write(self, error: RecordError) -> None:
        content = json.loads(error.raw) if error.raw else {}
        content[MARK] = {"where": error.where, "reason": error.reason}
        line = _json(content)
        try:
            if self._file is None:
                self._file = self._opened()
            self._append(self._file, line.encode() + b"\n")
        except OSError as problem:
            raise SettingsError(f"--rejects {self.path}: cannot be written: {problem.strerror}") from problem
        self.count += 1

    def _opened(self) -> int:
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":  # an editor, or a crash, left the last line open
            self._append(file, b"\n")
        return file

    @staticmethod
    def _append(file: int, data: bytes) -> None:
        while data:
            data = data[os.write(file, data) :]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
