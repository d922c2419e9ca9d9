"""BibTeX: entries to papers, and broken entries that take no others with them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sciret.sources import limits

Read = Callable[..., tuple[list[Any], list[Any]]]
GOOD = "@article{good, title = {Good}}\n"


def test_an_entry_becomes_a_paper(read: Read) -> None:
    """Key, names, accents, macros, keywords, DOI; the rest goes into extra."""
    content = r"""
A file begins with anything.
@String{jot = "Journal of " # {Things}}
@preamble{"\newcommand{\x}{y}"}
@comment{jabref-meta: databaseType:bibtex;}
@Article{doe:2019,
  author   = {Doe, Jane and M{\"u}ller, Jr, J{\"o}rg and {Things and Co} and Ludwig van Beethoven and others},
  Title    = "{\'E}tude of {$\beta$}-things,
              and \emph{others}",
  abstract = {We did. 50\% more.},
  journal  = jot # { and More},
  year     = 2019, month = jul,
  keywords = {things, other things; more},
  doi      = {https://doi.org/10.1000/AB\_c},
  url      = {https://example.org/~doe/a\_b},
  volume   = 7
}
"""
    (paper,), errors = read(content, "papers.bib")
    assert errors == []
    assert (paper.id, paper.type, paper.year) == ("doe:2019", "article", 2019)
    assert paper.title == "Étude of $β$-things, and others"
    assert paper.authors == ("Jane Doe", "Jörg Müller Jr", "Things and Co", "Ludwig van Beethoven")
    assert (paper.abstract, paper.venue) == ("We did. 50% more.", "Journal of Things and More")
    assert paper.keywords == ("things", "other things", "more")
    assert (paper.doi, paper.url) == ("10.1000/ab_c", "https://example.org/~doe/a_b")
    assert paper.extra == {"month": "July", "volume": "7"}


def test_biblatex_fields_are_known(read: Read) -> None:
    """Dates may be ranges, and entries may have types of their own."""
    content = "@online{x, title={T}, date={2019-05/2019-06}, journaltitle={J}, langid={german}}"
    (paper,), _ = read(content, "papers.bib")
    assert (paper.date, paper.year, paper.venue, paper.language) == ("2019-05", 2019, "J", "german")


def test_entries_may_share_a_line_and_use_parentheses(read: Read) -> None:
    """As the format allows."""
    papers, errors = read("@misc{a, title={A}} @misc(b, title={B (b)})\n@misc{c,title={C}}", "papers.bib")
    assert [paper.title for paper in papers] == ["A", "B (b)", "C"]
    assert errors == []


def test_crossref_is_kept_as_it_is(read: Read) -> None:
    """An entry does not inherit: what it refers to may come a million entries later."""
    (paper,), _ = read("@inproceedings{a, title={A}, crossref={conf}}", "papers.bib")
    assert paper.extra == {"crossref": "conf"}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("@article{bad, title = {open,\n year = 2000\n}\n", "not closed before the next entry begins in line"),
        ("@article{bad, title = {A}},\n abstract = {lost}\n}\n", "a closing brace too many"),
        ("@article{bad, title = {A} year = 2000}\n", "Expected '}' in its line 1, column 27"),
        ("@article{bad, title = }\n", "a value in braces, in quotes or in digits is missing"),
        ("@article{bad key, title = {A}}\n", "Whitespace not allowed in citekeys"),
        ("@article{, title = {A}}\n", "Empty citekeys"),
        ("@article{bad, journal = jot}\n", "'jot' is not defined; add @string{jot = {...}}"),
        ("@article\n", "begins with @ but not like an entry"),
        pytest.param("@article{bad, title = " + "{" * 500 + "}" * 500 + "}\n", "nested too deeply", id="deep"),
        pytest.param(
            "@article{bad, title = {" + "x" * limits.BLOCK_CHARS + "}}\n", "longer than 1,048,576 characters", id="long"
        ),
        ("@article{bad, note = {no title}}\n", "title is missing"),
        ("@string{a = {x}, b}\n", "not a BibTeX entry"),
    ],
)
def test_a_broken_entry_takes_no_other_with_it(read: Read, entry: str, expected: str) -> None:
    """The entries before and after it are read; it is refused where it begins."""
    content = GOOD + "\n" + entry + GOOD.replace("good", "after")
    papers, errors = read(content, "papers.bib")
    assert [paper.id for paper in papers] == ["good", "after"]
    assert [error.where for error in errors] == ["papers.bib:3"]
    assert expected in errors[0].reason


def test_an_entry_left_open_at_the_end_is_refused(read: Read) -> None:
    """A download that was cut off ends like this."""
    papers, errors = read(GOOD + "@article{cut, title = {Cu", "papers.bib")
    assert len(papers) == 1
    assert "not closed before the file ends" in errors[0].reason


def test_comments_with_balanced_braces_are_comments(read: Read) -> None:
    """An entry that was commented out by % does not harm the one before it."""
    papers, errors = read(GOOD + "% @article{old,\n%  title = {Old}\n% }\n", "papers.bib")
    assert [paper.id for paper in papers] == ["good"]
    assert errors == []


def test_entries_that_are_not_utf8_are_refused(read: Read) -> None:
    """One by one."""
    content = GOOD.encode() + "@article{bad, title={Café}}\n".encode("latin-1")
    papers, errors = read(content, "papers.bib")
    assert [paper.id for paper in papers] == ["good"]
    assert "not UTF-8 (byte 0xe9)" in errors[0].reason


def test_macros_that_double_each_other_do_not_explode(read: Read) -> None:
    """Thirty definitions could ask for gigabytes; they are refused at the limit."""
    definitions = ['@string{m0 = "0123456789"}'] + [f"@string{{m{i} = m{i - 1} # m{i - 1}}}" for i in range(1, 40)]
    papers, errors = read("\n".join([*definitions, GOOD]), "papers.bib")
    assert [paper.id for paper in papers] == ["good"]
    assert "longer than 1,048,576 characters" in errors[0].reason


def test_it_is_silent_when_python_shows_every_warning(tmp_path: Path) -> None:
    """pyparsing turns its own remarks on under -W; they are nothing a user can act on."""
    path = tmp_path / "papers.bib"
    path.write_text(GOOD, encoding="utf-8")
    code = f"from sciret.sources.reader import open_source; print(len(list(open_source({str(path)!r}))))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, env=os.environ
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
