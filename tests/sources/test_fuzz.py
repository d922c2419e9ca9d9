"""Readers against anything: arbitrary bytes are refused and never raise, arbitrary records come out as they went in."""

from __future__ import annotations

import csv
import gzip
import io
import json
import string
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sciret.errors import RecordError, SettingsError
from sciret.paper import ACCESS, Paper

Read = Callable[..., tuple[list[Any], list[Any]]]
Rejects = Callable[[list[RecordError]], list[dict[str, Any]]]
FORMATS = ("jsonl", "csv", "tsv", "bibtex", "ris")
moderate = settings(deadline=None, max_examples=80)

# Pieces that mean something to some format, so that fuzzing gets past the first byte.
PIECES = [
    *(bytes([byte]) for byte in b'\n\r \t,;|"{}[]():#=@\x00\xff'),
    *(b"\r\n", b'""', b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"\xe2\x80\xa8"),
    *(b'{"id": "1", "title": "T"}', b'"_rejected": {}', b'"_raw": "x"', b'"_format": "bibtex"', b"\\ud800", b"1e999"),
    *(b"@article{k,", b"title = {T}", b"author = {A and B, C}", b"@string{a = {b}}", b"@comment", b"a # a", b"\\'e"),
    *(b"TY  - JOUR\n", b"ID  - 1\n", b"TI  - T\n", b"ER  - \n", b"UK  - u\n", b"ZZ  - z\n", b"PY  - 2019/1/1\n"),
    *(b"id,title\n", b"1,T\n"),
]
fragments = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=6)), max_size=25).map(b"".join)


@moderate
@given(content=fragments, packed=st.booleans(), header=st.booleans())
def test_arbitrary_bytes_are_refused_and_never_raise(
    read: Read, rejects: Rejects, content: bytes, packed: bool, header: bool
) -> None:
    """In every format; only a table's header may stop a source. What was refused is refused again."""
    content = b"id,title\n" + content if header else content
    for format_name in FORMATS:
        try:
            _, errors = read(gzip.compress(content) if packed else content, "fuzz", format=format_name)
        except SettingsError:
            assert format_name in ("csv", "tsv")
            continue
        assert all(error.where.startswith("fuzz:") and error.reason for error in errors)
        lines = "".join(json.dumps(line) + "\n" for line in rejects(errors))
        papers, again = read(lines, "rejects.jsonl")
        assert papers == []
        assert len(again) == len(errors)


texts = st.text(st.characters(exclude_categories=("C", "Z", "M"), max_codepoint=0x24F), min_size=1, max_size=12)
phrases = st.lists(texts, min_size=1, max_size=4).map(" ".join)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(texts, children, max_size=3),
    max_leaves=6,
)
papers = st.builds(
    Paper,
    id=texts,
    title=phrases,
    abstract=st.just("") | phrases,
    authors=st.lists(phrases, max_size=3).map(tuple),
    year=st.none() | st.integers(1000, 2100),
    date=st.none(),
    keywords=st.lists(phrases, max_size=3).map(tuple),
    venue=st.none() | phrases,
    doi=st.none() | st.from_regex(r"10\.[0-9]{4}/[a-z0-9]{1,8}", fullmatch=True),
    url=st.none() | texts,
    language=st.none() | texts,
    type=st.none() | texts,
    collections=st.lists(phrases, max_size=2).map(tuple),
    source=st.none() | texts,
    access=st.sampled_from(ACCESS),
    embargo_end=st.none(),
    deleted=st.booleans(),
    references=st.lists(texts, max_size=2).map(tuple),
    extra=st.dictionaries(texts.map("x_".__add__), values, max_size=3),
)


@moderate
@given(given_papers=st.lists(papers, max_size=4, unique_by=lambda paper: paper.id))
def test_json_lines_give_back_what_was_written(read: Read, given_papers: list[Paper]) -> None:
    """Every field of every paper."""
    content = "".join(json.dumps(paper.to_dict(), ensure_ascii=False) + "\n" for paper in given_papers)
    assert read(content) == (given_papers, [])


cells = st.text(
    st.characters(exclude_categories=("C", "Z", "M"), max_codepoint=0x24F) | st.sampled_from(' ,;"\n\t|'), max_size=12
)


@moderate
@given(
    rows=st.lists(st.tuples(texts, cells, cells), max_size=6, unique_by=lambda row: row[0]),
    delimiter=st.sampled_from(",;\t|"),
)
def test_tables_give_back_what_was_written(read: Read, rows: list[tuple[str, str, str]], delimiter: str) -> None:
    """Cells with delimiters, quotes and line breaks; a row with a blank title is the only one refused."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows([("id", "title", "note"), *rows])
    found, errors = read(file.getvalue(), "papers.csv")
    titled = [(row_id, " ".join(title.split()), note) for row_id, title, note in rows if title.strip()]
    assert [(paper.id, paper.title, paper.extra.get("note", "")) for paper in found] == [
        (row_id, title, note if note.strip() else "") for row_id, title, note in titled
    ]
    assert len(errors) == len(rows) - len(titled)


words = st.text(string.ascii_letters + string.digits + "éüñ.:-", min_size=1, max_size=10)
sayings = st.lists(words, min_size=1, max_size=4).map(" ".join)
keys = st.text(string.ascii_letters + string.digits + ":-_/", min_size=1, max_size=10)


@moderate
@given(
    entries=st.lists(
        st.tuples(keys, sayings, sayings, st.integers(1000, 2100)), max_size=5, unique_by=lambda entry: entry[0]
    )
)
def test_bibtex_gives_back_what_was_written(read: Read, entries: list[tuple[str, str, str, int]]) -> None:
    """Titles, abstracts and years by citation key."""
    form = '@article{{{0},\n  title = {{{1}}},\n  abstract = "{2}",\n  year = {3}\n}}\n\n'
    found, errors = read("".join(form.format(*entry) for entry in entries), "papers.bib")
    assert errors == []
    assert [(paper.id, paper.title, paper.abstract, paper.year) for paper in found] == entries


@moderate
@given(
    entries=st.lists(
        st.tuples(keys, sayings, sayings, st.integers(1000, 2100)), max_size=5, unique_by=lambda entry: entry[0]
    )
)
def test_ris_gives_back_what_was_written(read: Read, entries: list[tuple[str, str, str, int]]) -> None:
    """Titles, abstracts and years by id."""
    form = "TY  - JOUR\nID  - {0}\nTI  - {1}\nAB  - {2}\nPY  - {3}\nER  - \n\n"
    found, errors = read("".join(form.format(*entry) for entry in entries), "papers.ris")
    assert errors == []
    assert [(paper.id, paper.title, paper.abstract, paper.year) for paper in found] == entries


wrong: st.SearchStrategy[tuple[str, Any]] = st.sampled_from(
    [
        ("title", None),
        ("title", 5),
        ("year", "soon"),
        ("access", "free"),
        ("date", "2019-02-30"),
        ("authors", 1),
        ("abstract", {}),
    ]
)


@moderate
@given(paper=papers, fault=wrong)
def test_a_corrected_reject_is_the_paper_it_should_have_been(
    read: Read, rejects: Rejects, paper: Paper, fault: tuple[str, Any]
) -> None:
    """Whatever was wrong with it, and whatever else it holds."""
    right = {"id": paper.id, **paper.to_dict(), "deleted": False}
    _, errors = read(json.dumps({**right, fault[0]: fault[1]}))
    (line,) = rejects(errors)
    line.pop(fault[0])
    line |= {name: value for name, value in right.items() if name == fault[0]}
    found, again = read(json.dumps(line), "rejects.jsonl")
    assert again == []
    assert found == [Paper.from_dict({**right, **{name: tuple(v) for name, v in right.items() if isinstance(v, list)}})]


odd = st.text(max_size=8) | st.sampled_from(
    ["2019", "2019-02-29", "open", "a; b|c", "A\u030a", "\u2000x", "doi:10.1/X", "\x1f"]
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | odd,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(odd, children, max_size=3),
    max_leaves=5,
)
named = st.sampled_from(
    [*Paper.__dataclass_fields__, "journal", "subjects", "_rejected", "_raw", "_duplicate_of", "more"]
)


@moderate
@given(record=st.dictionaries(named, anything, max_size=8), titled=st.booleans())
def test_any_record_is_a_paper_or_refused(read: Read, record: dict[str, Any], titled: bool) -> None:
    """And what is accepted is in its normal form: written out and read again it is the same paper."""
    record = {"id": "1", "title": "T", **record} if titled else record
    found, errors = read(json.dumps(record))
    assert len(found) + len(errors) == 1
    for paper in found:
        assert read(json.dumps(paper.to_dict())) == ([paper], [])
