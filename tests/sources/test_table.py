"""CSV and TSV: headers, delimiters, quotes, and rows that are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sciret.errors import SettingsError
from sciret.sources.limits import LINE_BYTES

Read = Callable[..., tuple[list[Any], list[Any]]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_in_the_header(read: Read, delimiter: str) -> None:
    """Also when a quoted name holds another one."""
    content = 'id|title|"a, b, c, d; e; f"\n1|One|x\n'.replace("|", delimiter)
    papers, errors = read(content, "papers.csv")
    assert errors == []
    assert (papers[0].title, papers[0].extra) == ("One", {"a, b, c, d; e; f": "x"})


def test_tsv_is_split_at_tabs_only(read: Read) -> None:
    """Whatever else the header holds."""
    papers, _ = read("id\ttitle, subtitle, and more\tTitle\n1\tx\tOne\n", "papers.tsv")
    assert papers[0].title == "One"


def test_usual_names_are_recognised(read: Read) -> None:
    """Case, spaces and dashes do not matter; cells with several values are split."""
    header = "Key,Title,Abstract Note,Author,Publication Year,DOI,Publication-Title,Author Keywords,Item Type,Pages\n"
    row = 'Z1,One,"Text, more.","Doe, Jane; Roe, R.",2019,10.1/X,Journal,a; b,article,1-2\n'
    (paper,), errors = read(header + row, "zotero.csv")
    assert errors == []
    assert (paper.id, paper.title, paper.abstract, paper.year) == ("Z1", "One", "Text, more.", 2019)
    assert (paper.authors, paper.keywords) == (("Doe, Jane", "Roe, R."), ("a", "b"))
    assert (paper.doi, paper.venue, paper.type, paper.extra) == ("10.1/x", "Journal", "article", {"Pages": "1-2"})


def test_a_mapping_wins_over_names(read: Read) -> None:
    """The column that has the field's own name is then one among others."""
    content = "id,Titel,title\n1,Eins,short\n"
    (paper,), _ = read(content, "papers.csv", columns={"title": "Titel"})
    assert (paper.title, paper.extra) == ("Eins", {"title": "short"})


def test_one_column_may_be_two_fields(read: Read) -> None:
    """Where the DOI is to be the id under that name as well."""
    (paper,), _ = read("key,t,d\n1,One,10.1/A\n", "p.csv", columns={"id": "d", "doi": "d", "title": "t"})
    assert (paper.id, paper.doi) == ("10.1/A", "10.1/a")


def test_the_doi_is_the_id_where_there_is_no_other(read: Read) -> None:
    """In its normal form; a row without one has no id."""
    papers, errors = read("DOI,Title\nhttps://doi.org/10.1/A,One\n,Two\n", "papers.csv")
    assert [(paper.id, paper.doi) for paper in papers] == [("10.1/a", "10.1/a")]
    assert ["id is missing" in error.reason for error in errors] == [True]


def test_line_numbers_count_the_lines_in_quotes(read: Read) -> None:
    """A row is where it begins."""
    content = 'id,title,abstract\n1,One,"a\nb\n\nc"\n2,,x\n\n3,Three,x\n4,Four\n'
    papers, errors = read(content, "papers.csv")
    assert [(paper.id, paper.abstract) for paper in papers] == [("1", "a b c"), ("3", "x")]
    assert [error.where for error in errors] == ["papers.csv:6", "papers.csv:9"]
    assert "--title-from-abstract" in errors[0].reason
    assert "2 cells, but the header has 3" in errors[1].reason


def test_rows_of_empty_cells_are_skipped(read: Read) -> None:
    """Spreadsheets leave them at the end."""
    assert read("id,title\n1,One\n,\n , \n", "papers.csv")[1] == []


def test_an_open_quote_takes_one_row_only(read: Read) -> None:
    """Not the rest of the file, whether it ends soon or is longer than a cell may be."""
    for count in (5, 20_000):
        rows = "".join(f"{i},Title {i},abstract\n" for i in range(count))
        papers, errors = read(f'id,title,abstract\nbad,Bad,"open\n{rows}', "papers.csv")
        assert len(papers) == count
        assert [error.where for error in errors] == ["papers.csv:2"]


def test_a_cell_over_the_limit_of_csv_is_refused(read: Read) -> None:
    """And reading goes on."""
    papers, errors = read(f"id,title,abstract\n1,One,{'x' * 140_000}\n2,Two,x\n", "papers.csv")
    assert [paper.id for paper in papers] == ["2"]
    assert "field larger than field limit" in errors[0].reason


def test_a_line_over_the_limit_is_one_refusal(read: Read) -> None:
    """Only its beginning is kept, and reading goes on."""
    papers, errors = read(f"id,title\n1,{'x' * LINE_BYTES}\n2,Two\n", "papers.csv")
    assert [paper.id for paper in papers] == ["2"]
    assert "longer than 16 MiB" in errors[0].reason


def test_rows_that_are_not_utf8_are_refused(read: Read) -> None:
    """One by one: the others are read."""
    papers, errors = read("id,title\n1,Café\n2,x\n".encode("latin-1"), "papers.csv")
    assert [paper.id for paper in papers] == ["2"]
    assert "not UTF-8 (byte 0xe9)" in errors[0].reason


@pytest.mark.parametrize(
    ("content", "columns", "expected"),
    [
        ("id,name\n1,x\n", {}, r"no column for title among 'id', 'name'; .*--column title=NAME"),
        ("name,title\n1,x\n", {}, r"no column for id among"),
        ("id,title,id\n1,x,2\n", {}, "the column 'id' appears twice"),
        ("id,title\n1,x\n", {"title": "Titel"}, "has no column 'Titel'; it has 'id', 'title'"),
        ("id,title\n1,x\n", {"heading": "title"}, "no field 'heading'; there are id, title"),
        ('id,"title\n1,x\n', {}, "the header is not a row"),
        ("id,title,Ort\xe9\n1,x,y\n".encode("latin-1"), {}, "the header is not UTF-8"),
    ],
)
def test_a_header_that_cannot_be_used_stops_the_source(
    read: Read, content: str | bytes, columns: dict[str, str], expected: str
) -> None:
    """Every row would be wrong, so it is not a matter of rows."""
    with pytest.raises(SettingsError, match=expected):
        read(content, "papers.csv", columns=columns)


def test_a_header_over_the_limit_stops_the_source(read: Read) -> None:
    """It is no header: a file that is one endless line, for instance."""
    with pytest.raises(SettingsError, match="the header is not a row of column names: the line is longer than 16 MiB"):
        read("id,title," + "x" * LINE_BYTES, "papers.csv")


def test_titles_from_abstracts_need_no_title_column(read: Read) -> None:
    """When they are asked for."""
    (paper,), _ = read("id,abstract\n1,First one. Second one.\n", "papers.csv", title_from_abstract=True)
    assert (paper.title, paper.abstract) == ("First one.", "First one. Second one.")


def test_an_empty_table_has_no_papers(read: Read) -> None:
    """As an empty file of any format."""
    assert read("", "papers.csv") == read(" \n\n", "papers.tsv") == ([], [])


def test_a_column_without_a_name_is_kept(read: Read) -> None:
    """Data frames write their index under no name."""
    (paper,), _ = read(",id,title\n0,1,One\n", "papers.csv")
    assert paper.extra == {"column 1": "0"}
