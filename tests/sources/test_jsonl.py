"""JSON Lines: what is a record, and what is refused with which reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sciret.sources.limits import LINE_BYTES

Read = Callable[..., tuple[list[Any], list[Any]]]
GOOD = '{"id": "ok", "title": "Good"}'


def test_blank_lines_are_skipped_and_counted(read: Read) -> None:
    """Line numbers are those of the file."""
    papers, errors = read(f'\n{GOOD}\r\n   \n\n{{"id": "2"}}\n')
    assert [paper.id for paper in papers] == ["ok"]
    assert [error.where for error in errors] == ["papers.jsonl:5"]


def test_a_byte_order_mark_is_accepted(read: Read) -> None:
    """Windows software writes one."""
    assert read("\ufeff" + GOOD)[0][0].id == "ok"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"id": "1", "title": "x"', "broken JSON at character 25: Expecting ',' delimiter"),
        (b"nonsense", "broken JSON at character 1"),
        (b'["id"]', "JSON that is a list, not an object"),
        (b'"text"', "JSON that is text, not an object"),
        (b"null", "JSON that is null, not an object"),
        (b'{"id": "1", "title": "x", "y": NaN}', "JSON has no NaN"),
        (b'{"id": "1", "title": "x", "y": -Infinity}', "JSON has no -Infinity"),
        (b'{"id": "1", "title": "x", "y": 1e999}', "the number 1e999 is too large"),
        pytest.param(b'{"id": "1", "y": ' + b"9" * 5000 + b"}", "Exceeds the limit (4300 digits)", id="digits"),
        (b'{"id": "1", "title": "x", "y": ' + b"[" * 40 + b"]" * 40 + b"}", "nested deeper than 32 levels"),
        pytest.param(b'{"a":' * 100_000, "nested deeper than 32 levels", id="bomb"),
        (b'{"id": "1", "title": "caf\xe9"}', "not UTF-8 (byte 0xe9)"),
        (b'{"id": "1", "title": "a\x00b"}', "broken JSON"),
        (rb'{"id": "1", "title": "a\u0000b"}', "title holds a NUL"),
        (rb'{"id": "1", "title": "a\ud800b"}', "title holds a lone surrogate"),
    ],
)
def test_a_bad_line_is_refused_and_the_others_are_read(read: Read, line: bytes, expected: str) -> None:
    """Nothing that stands in a line keeps the next from being read."""
    papers, errors = read(line + b"\n" + GOOD.encode())
    assert [paper.id for paper in papers] == ["ok"]
    assert [error.where for error in errors] == ["papers.jsonl:1"]
    assert expected in errors[0].reason


def test_a_line_over_the_limit_is_refused(read: Read) -> None:
    """Only its beginning is kept, and the next line is read."""
    papers, errors = read('{"id": "' + "x" * LINE_BYTES + f'"}}\n{GOOD}')
    assert [paper.id for paper in papers] == ["ok"]
    assert "longer than 16 MiB" in errors[0].reason
    assert len(errors[0].raw) < 2000


@pytest.mark.parametrize("content", ['[\n{"id": "1"},\n{"id": "2"}\n]', '{\n"id": "1"\n}', '[{\n"id": "1"}]'])
def test_json_over_several_lines_is_one_refusal(read: Read, content: str) -> None:
    """A pretty-printed file gets one remedy, not a refusal for every line."""
    papers, errors = read(content, "papers.json")
    assert papers == []
    assert ["jq -c" in error.reason for error in errors] == [True]
