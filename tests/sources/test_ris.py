"""RIS: records to papers, and broken records that take no others with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sciret.sources import limits

Read = Callable[..., tuple[list[Any], list[Any]]]
GOOD = "TY  - JOUR\nID  - good\nTI  - Good\nER  - \n"


def test_a_record_becomes_a_paper(read: Read) -> None:
    """Tags, continued lines, names and dates; unknown tags go into extra."""
    content = """Provider: somebody
TY  - JOUR
ID  - doe2019
TI  - A study of things
      that goes on
AB  - First.
AB  - Second.
AU  - Doe, Jane, Jr
A1  - Roe, Richard
PY  - 2019/07/31/
KW  - things
KW  - other things
T2  - Journal of Things
DO  - https://doi.org/10.1000/ABC
UR  - https://example.org/1
UR  - https://example.org/2
LA  - en
VL  - 7
XX  - odd
ER  -\u0020

"""
    (paper,), errors = read(content, "papers.ris")
    assert errors == []
    assert (paper.id, paper.type, paper.title) == ("doe2019", "JOUR", "A study of things that goes on")
    assert (paper.abstract, paper.sentences) == ("First. Second.", ())
    assert paper.authors == ("Jane Doe Jr", "Richard Roe")
    assert (paper.year, paper.date, paper.venue) == (2019, "2019-07-31", "Journal of Things")
    assert (paper.keywords, paper.language) == (("things", "other things"), "en")
    assert (paper.doi, paper.url) == ("10.1000/abc", "https://example.org/1")
    assert paper.extra == {"volume": "7", "urls": ["https://example.org/2"], "XX": ["odd"]}


@pytest.mark.parametrize(
    ("lines", "year", "date"),
    [
        ("PY  - 2019", 2019, None),
        ("Y1  - 2019/07//", 2019, "2019-07"),
        ("PY  - 2019///Summer", 2019, None),
        ("DA  - 2019/7/3", 2019, "2019-07-03"),
        ("PY  - 2018\nDA  - 2019-07-03", 2018, "2019-07-03"),
        ("PY  - 2018\nDA  - July", 2018, None),
        ("PY  - 2018/00/00", 2018, None),
    ],
)
def test_dates_come_in_several_shapes(read: Read, lines: str, year: int, date: str | None) -> None:
    """The year alone, or more of the date; a DA that is no date is kept in extra."""
    (paper,), errors = read(f"TY  - JOUR\nID  - 1\nTI  - T\n{lines}\nER  - \n", "papers.ris")
    assert errors == []
    assert (paper.year, paper.date or None) == (year, date)


def test_the_id_is_the_first_of_three(read: Read) -> None:
    """ID, AN, then the DOI in its normal form; without any the record is refused with the remedy."""
    tags = ["ID  - a\nAN  - b\nDO  - 10.1/C", "AN  - b\nDO  - 10.1/C", "DO  - 10.1/C", "VL  - 1"]
    papers, errors = read("".join(f"TY  - JOUR\nTI  - T\n{tag}\nER  - \n" for tag in tags), "papers.ris")
    assert [paper.id for paper in papers] == ["a", "b", "10.1/c"]
    assert ["no ID, AN or DO; add one" in error.reason for error in errors] == [True]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("TY  - JOUR\nTI  - no end\n", "no ER line before the next record begins in line 7"),
        ("AU  - nobody\nER  - \n", "does not begin with a TY line"),
        ("TY  - JOUR\nID  - 1\nER  - \n", "title is missing"),
        ("TY  - JOUR\nID  - 1\nTI  - T\nPY  - soon\nER  - \n", "year must be a year in digits, not 'soon'"),
        pytest.param(
            "TY  - JOUR\nAB  - " + "x" * limits.BLOCK_CHARS + "\nER  - \n",
            "longer than 1,048,576 characters",
            id="long",
        ),
        ("TY  - JOUR\nUK  - a\nQQ  - b\nER  - \n", "no ID, AN or DO"),
    ],
)
def test_a_broken_record_takes_no_other_with_it(read: Read, record: str, expected: str) -> None:
    """The records before and after it are read; it is refused where it begins."""
    papers, errors = read(GOOD + record + GOOD.replace("good", "after"), "papers.ris")
    assert [paper.id for paper in papers] == ["good", "after"]
    assert [error.where for error in errors] == ["papers.ris:5"]
    assert expected in errors[0].reason


def test_a_record_left_open_at_the_end_is_refused(read: Read) -> None:
    """A download that was cut off ends like this."""
    papers, errors = read(GOOD + "TY  - JOUR\nTI  - Cu", "papers.ris")
    assert len(papers) == 1
    assert "no ER line before the file ends" in errors[0].reason


def test_records_that_are_not_utf8_are_refused(read: Read) -> None:
    """One by one."""
    bad = "TY  - JOUR\nID  - 1\nTI  - Café\nER  - \n".encode("latin-1")
    papers, errors = read(GOOD.encode() + bad, "papers.ris")
    assert [paper.id for paper in papers] == ["good"]
    assert "not UTF-8 (byte 0xe9)" in errors[0].reason
