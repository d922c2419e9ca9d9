"""Bytes to numbered lines: from files and stdin, gzip or not, in bounded memory whatever they hold."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import RawIOBase
from itertools import chain
from typing import Any, NamedTuple

from sciret.errors import SciretError, SettingsError
from sciret.sources.limits import BEGINNING_BYTES, LINE_BYTES

_CHUNK = 256 * 1024
_COMPRESSED = 4 * 1024  # what is lost before damage in a gzip stream is at most what one piece of this size held
_HEAD = 16
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_NOT_TEXT = {
    b"\xff\xfe": "UTF-16; convert the file: iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "UTF-16; convert the file: iconv -f UTF-16 -t UTF-8",
    b"\x00\x00\xfe\xff": "UTF-32; convert the file: iconv -f UTF-32 -t UTF-8",
    b"PK\x03\x04": "a zip archive or an office document; unpack it, or save it as CSV",
    b"BZh": "compressed by bzip2; pipe it in: bzip2 -dc FILE | sciret ingest - --format FORMAT",
    b"\xfd7zXZ\x00": "compressed by xz; pipe it in: xz -dc FILE | sciret ingest - --format FORMAT",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; pipe it in: zstd -dc FILE | sciret ingest - --format FORMAT",
}


class Line(NamedTuple):
    number: int
    data: bytes
    """With its line ending; of an overlong line only the beginning."""
    whole: bool = True

    @property
    def text(self) -> str:
        """Bytes that are not UTF-8 become surrogate escapes, to be found once the record is together."""
        return self.data.decode("utf-8", "surrogateescape")


class Lines:
    """The lines of one stream, which may end in `\\n`, `\\r\\n` or `\\r`. Gzip is known by its first bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.number = 0
        """Of the last line given."""
        self.broken: str | None = None
        """Why a gzip stream stopped before its end, once it has."""
        self.head, self._chunks = _peeked(chunks)
        if self.head.startswith(_GZIP):
            self.head, self._chunks = _peeked(self._inflated(self._chunks))

    def __iter__(self) -> Iterator[Line]:
        rest = bytearray()
        for chunk in self._chunks:
            rest += chunk
            # A last "\r" may be the first half of a "\r\n": it waits in `rest` for the next chunk.
            if b"\n" in chunk or b"\r" in rest[-len(chunk) - 1 :]:
                complete = bytes(rest).splitlines(keepends=True)
                rest = bytearray(b"" if complete[-1].endswith(b"\n") else complete.pop())
                yield from map(self._line, complete)
            del rest[LINE_BYTES + 1 :]
        if rest and not self.broken:
            yield self._line(bytes(rest))

    def _line(self, data: bytes) -> Line:
        self.number += 1
        if self.number == 1:
            data = data.removeprefix(_BOM)
        if len(data) > LINE_BYTES:
            return Line(self.number, data[:BEGINNING_BYTES], whole=False)
        return Line(self.number, data)

    def _inflated(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Every member of a gzip stream, in pieces of bounded size: a few bytes can inflate to gigabytes."""
        inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            for piece in _pieces(chunks):
                data = piece
                # Zeros after a member are padding, as tapes and some writers leave it.
                while data := data.lstrip(b"\0") if inflater.eof else data:
                    if inflater.eof:
                        inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
                    yield inflater.decompress(data, _CHUNK)
                    data = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
        except zlib.error as error:
            # Only the end of a gzip stream carries a checksum: damage may have passed for text before it was noticed.
            self.broken = (
                f"the gzip stream is damaged here or shortly before ({error}); what came before was read, "
                f"fetch the file again and ingest it anew"
            )
        if not inflater.eof and not self.broken:
            self.broken = "the gzip stream is cut off here; everything before was read, fetch the file again"


@contextmanager
def open_lines(name: str) -> Iterator[Lines]:
    """The lines of a file, or of stdin for `-`."""
    if name == "-":
        # Without its buffer: a thread that waits in a buffer's read holds a lock that Ctrl-C could not get past.
        stdin: Any = sys.stdin.buffer
        yield Lines(_chunks(getattr(stdin, "raw", stdin), "stdin"))
        return
    try:
        file = open(name, "rb", buffering=0)  # noqa: SIM115 (only opening it may be reported as such)
    except OSError as error:
        raise SettingsError(f"{name}: cannot be read: {error.strerror}") from error
    with file:
        yield Lines(_chunks(file, name))


def not_text(head: bytes) -> str | None:
    """What a stream is that begins like this, if it is no text that sciret reads."""
    return next((what for magic, what in _NOT_TEXT.items() if head.startswith(magic)), None)


def _chunks(file: RawIOBase, name: str) -> Iterator[bytes]:
    """What is there, without waiting for a full chunk: a pipe may be slow."""
    try:
        while chunk := file.read(_CHUNK):
            yield chunk
    except OSError as error:
        raise SciretError(f"{name}: reading stopped: {error.strerror}") from error


def _peeked(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes, as many as tell formats apart, and all of them."""
    head = b""
    while len(head) < _CHUNK and len(head.lstrip()) < _HEAD and (chunk := next(chunks, None)) is not None:
        head += chunk
    return head, chain([head], chunks)


def _pieces(chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        yield from (chunk[i : i + _COMPRESSED] for i in range(0, len(chunk), _COMPRESSED))
