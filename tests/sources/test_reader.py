"""open_source: which format it is, what cannot be read at all, and duplicates."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sciret.errors import RecordError, SettingsError
from sciret.paper import Paper
from sciret.sources.duplicates import SeenIds
from sciret.sources.reader import format_of, open_source

Read = Callable[..., tuple[list[Any], list[Any]]]
CONTENTS = {
    "jsonl": '{"id": "1", "title": "T"}\n',
    "csv": "id,title\n1,T\n",
    "tsv": "id\ttitle\n1\tT\n",
    "bibtex": "@misc{1, title={T}}\n",
    "ris": "TY  - JOUR\nID  - 1\nTI  - T\nER  - \n",
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.jsonl", "jsonl"),
        ("a.ndjson.gz", "jsonl"),
        ("a.JSON", "jsonl"),
        ("a.b.csv", "csv"),
        ("a.tsv.gz", "tsv"),
        ("a.Bib", "bibtex"),
        ("a.ris", "ris"),
    ],
)
def test_the_name_says_the_format(name: str, expected: str) -> None:
    """Whatever its case, and with .gz or without."""
    assert format_of(name) == expected


@pytest.mark.parametrize("format_name", CONTENTS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_is_read_packed_or_not(read: Read, format_name: str, packed: bool) -> None:
    """The format that is asked for wins over the name; gzip needs no name at all."""
    content = CONTENTS[format_name].encode()
    papers, errors = read(gzip.compress(content) if packed else content, "papers.dat", format=format_name)
    assert ([(paper.id, paper.title) for paper in papers], errors) == ([("1", "T")], [])


@pytest.mark.parametrize("format_name", ["jsonl", "bibtex", "ris"])
def test_stdin_is_known_by_its_beginning(format_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that is certain; tables have to be named."""
    content = ("\ufeff\n" + CONTENTS[format_name]).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(content))))
    found = list(open_source("-"))
    assert [item.id for item in found if isinstance(item, Paper)] == ["1"]


def test_stdin_is_named_in_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the line, as a file is."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\nid,title\n")))
    (error,) = open_source("-")
    assert isinstance(error, RecordError)
    assert error.where == "stdin:2"


def test_what_cannot_be_read_at_all_is_said_before_reading(tmp_path: Path) -> None:
    """A missing file, a folder, a name that says nothing, a format that does not exist."""
    (tmp_path / "papers.docx").touch()
    for name, format_name, expected in (
        ("papers.csv", None, "papers.csv: no such file"),
        ("", "csv", "a folder"),
        ("papers.docx", None, r"cannot be told from the name .*--format jsonl\|csv\|tsv\|bibtex\|ris"),
        ("papers.docx", "docx", "there are jsonl, csv, tsv, bibtex, ris"),
    ):
        with pytest.raises(SettingsError, match=expected):
            open_source(str(tmp_path / name), format=format_name)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("text".encode("utf-16"), "UTF-16; convert the file: iconv"),
        (gzip.compress("text".encode("utf-16")), "UTF-16"),
        (b"PK\x03\x04rest", "a zip archive or an office document"),
        (b"BZh91AY", "bzip2"),
        (b"\xfd7zXZ\x00", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
    ],
)
def test_a_file_that_is_no_text_is_one_refusal(read: Read, content: bytes, expected: str) -> None:
    """With the way to make it one, instead of a refusal for every line."""
    papers, errors = read(content)
    assert (papers, [error.where for error in errors]) == ([], ["papers.jsonl:1"])
    assert expected in errors[0].reason


@pytest.mark.parametrize("format_name", CONTENTS)
def test_a_cut_gzip_stream_is_a_refusal_after_what_could_be_read(read: Read, format_name: str) -> None:
    """It says in which line it broke."""
    header, record = "", CONTENTS[format_name]
    if format_name in ("csv", "tsv"):
        header, record = record.splitlines(keepends=True)
    content = header + "".join(record.replace("1", str(i), 1) for i in range(600))
    papers, errors = read(gzip.compress(content.encode())[:-200], "papers.gz", format=format_name)
    assert len(papers) > 100
    assert "cut off" in errors[-1].reason
    assert int(errors[-1].where.removeprefix("papers.gz:")) > len(papers)


def test_an_empty_cut_gzip_stream_is_a_refusal(read: Read) -> None:
    """Whatever the format: a header that never came is no fault of the header."""
    for format_name in CONTENTS:
        papers, errors = read(gzip.compress(b"x" * 1000)[:12], "papers.gz", format=format_name)
        assert (papers, len(errors)) == ([], 1)


def test_an_id_counts_once_in_a_run(read: Read) -> None:
    """Over all sources that share what was seen; a refused record does not use up its id."""
    seen = SeenIds()
    content = '{"id": "1", "title": ""}\n{"id": "1", "title": "A"}\n{"id": " 1 ", "title": "B"}\n'
    papers, errors = read(content, seen=seen)
    assert ([paper.title for paper in papers], len(errors)) == (["A"], 2)
    assert "the id '1' came before" in errors[1].reason
    papers, errors = read("id,title\n1,C\n2,D\n", "more.csv", seen=seen)
    assert ([paper.title for paper in papers], len(errors), len(seen)) == (["D"], 1, 2)
