"""Bytes become numbered lines, in bounded memory."""

from __future__ import annotations

import gzip
import io
import random
import tracemalloc
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciret.errors import SettingsError
from sciret.sources.limits import LINE_BYTES
from sciret.sources.stream import Lines, open_lines


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[i : i + size] for i in range(0, len(data), size))


@settings(deadline=None, max_examples=100)
@given(text=st.text(alphabet="ab\r\n", max_size=40), size=st.integers(1, 5))
def test_lines_are_the_same_however_the_bytes_arrive(text: str, size: int) -> None:
    """All three line endings count, also where one is cut in two by the end of a chunk."""
    lines = list(Lines(pieces(text.encode(), size)))
    assert [line.data for line in lines] == text.encode().splitlines(keepends=True)
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))


def test_a_byte_order_mark_is_not_text() -> None:
    """It is dropped from the first line only."""
    assert [line.data for line in Lines(iter([b"\xef\xbb\xbfa\n\xef\xbb\xbfb"]))] == [b"a\n", b"\xef\xbb\xbfb"]


def test_an_endless_line_is_cut_in_bounded_memory() -> None:
    """Of 400 MB without a line break a few lines' worth is in memory, and the next line is read as ever."""
    tracemalloc.start()
    lines = list(Lines(chain((b"x" * 1_000_000 for _ in range(400)), [b"\nnext\n"])))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(line.number, line.whole, len(line.data)) for line in lines] == [(1, False, 1000), (2, True, 5)]
    assert peak < 4 * LINE_BYTES


@pytest.mark.parametrize("size", [1, 7, 1000, 10**6])
def test_gzip_is_known_by_its_first_bytes(size: int) -> None:
    """Members one after another are one stream, and zeros after them are padding."""
    data = gzip.compress(b"a\nb\n") + gzip.compress(b"c\n" * 5000) + b"\0" * 600
    lines = Lines(pieces(data, size))
    assert len(list(lines)) == 5002
    assert lines.broken is None


def test_a_cut_gzip_stream_gives_what_it_had() -> None:
    """Every whole line before the cut is read, and the reason is told."""
    whole = b"".join(b"line %d\n" % i for i in range(20_000))
    lines = Lines(pieces(gzip.compress(whole)[:-2000], 4096))
    found = [line.data for line in lines]
    assert found == whole.splitlines(keepends=True)[: len(found)]
    assert len(found) > 15_000
    assert "cut off" in (lines.broken or "")


def test_a_damaged_gzip_stream_gives_what_came_before() -> None:
    """Damage in the middle is noticed, and costs no more than some kilobytes before it."""
    whole = b"".join(b"line %d\n" % (i * 7919 % 100_003) for i in range(20_000))
    data = bytearray(gzip.compress(whole))
    data[len(data) // 2 :] = random.Random(1).randbytes(len(data) - len(data) // 2)
    lines = Lines(pieces(bytes(data), 4096))
    found = [line.data for line in lines]
    assert found[:8000] == whole.splitlines(keepends=True)[:8000]
    assert len(found) < 20_000
    assert "damaged" in (lines.broken or "")


def test_an_inflated_bomb_stays_small() -> None:
    """200 MB of zeros in 200 KB are read in pieces."""
    data = gzip.compress(b"\0" * 200_000_000, compresslevel=1)
    tracemalloc.start()
    lines = list(Lines(pieces(data, 65536)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [line.whole for line in lines] == [False]
    assert peak < 4 * LINE_BYTES


def test_stdin_is_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is a dash."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"a\nb"))))
    with open_lines("-") as lines:
        assert [line.data for line in lines] == [b"a\n", b"b"]


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """With the system's own reason."""
    with pytest.raises(SettingsError, match="gone: cannot be read: No such file"), open_lines(str(tmp_path / "gone")):
        pass
