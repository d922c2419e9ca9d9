"""A record of any format becomes a Paper, or a refusal that names the field and the remedy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.sources import limits
from sciret.sources.record import Record, paper_from_record


def paper(**fields: Any) -> Paper:
    found = paper_from_record(Record("papers.jsonl:1", {"id": "p1", "title": "On things", **fields}))
    assert isinstance(found, Paper), found
    return found


def refusal(**fields: Any) -> RecordError:
    found = paper_from_record(Record("papers.jsonl:17", {"id": "p1", "title": "On things", **fields}))
    assert isinstance(found, RecordError)
    return found


def test_id_and_title_are_enough() -> None:
    """Title-only records are first-class."""
    assert paper() == Paper(id="p1", title="On things")


def test_every_field_has_its_place() -> None:
    """A record with every field comes out as it went in, and unknown fields go into extra."""
    given: dict[str, Any] = {
        "id": "p1",
        "title": "On things",
        "abstract": "First. Second.",
        "authors": ["A. Uthor", "W. Riter"],
        "year": 2019,
        "date": "2019-07-31",
        "keywords": ["things", "other things"],
        "venue": "Things",
        "doi": "10.1000/things",
        "url": "https://example.org/things",
        "language": "en",
        "type": "article",
        "collections": ["cs"],
        "source": "a repository",
        "access": "embargoed",
        "embargo_end": "2031-01-01",
        "deleted": False,
        "references": ["p0"],
    }
    found = paper(**given, pages="1-2", scores={"a": [1, 2.5, None, True]})
    assert found == Paper.from_dict({**given, "extra": {"pages": "1-2", "scores": {"a": [1, 2.5, None, True]}}})


def test_a_list_of_sentences_is_kept_as_given() -> None:
    """Sentences are never joined and split again; the abstract is the text of them all."""
    found = paper(abstract=["One e.g. this.", "", "Two"])
    assert found.sentences == ("One e.g. this.", "Two")
    assert found.abstract == "One e.g. this. Two"


def test_what_to_dict_writes_is_read_again() -> None:
    """An export of a store is a source: abstract and sentences may both be there if they are the same text."""
    first = paper(abstract=["One.", "Two."], authors="A; B", custom=1)
    again = paper_from_record(Record("x", json.loads(json.dumps(first.to_dict()))))
    assert again == first
    assert "not the same text" in refusal(abstract="One.", sentences=["Two."]).reason


def test_text_is_normalised() -> None:
    """Runs of whitespace and control characters are one space, and Unicode is NFC."""
    found = paper(title="  Cafe\u0301\n au\t\x0blait\x85 ", authors=["  ", "A\u00a0 B"])
    assert found.title == "Café au lait"
    assert found.authors == ("A B",)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["A B", "C D"], ("A B", "C D")),
        ("A B; C D", ("A B", "C D")),
        ([{"name": "A B"}, {"given": "C", "family": "D"}, {"family": "E"}], ("A B", "C D", "E")),
    ],
)
def test_authors_come_in_several_shapes(given: Any, expected: tuple[str, ...]) -> None:
    """Strings, objects, and one string with semicolons."""
    assert paper(authors=given).authors == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [(["a", "b, c"], ("a", "b, c")), ("a, b", ("a", "b")), ("a, b; c|d", ("a, b", "c", "d")), ("", ())],
)
def test_keywords_are_split_at_the_strongest_separator(given: Any, expected: tuple[str, ...]) -> None:
    """Commas separate only where neither ; nor | does."""
    assert paper(keywords=given).keywords == expected


def test_other_names_of_fields_count_where_the_own_name_is_missing() -> None:
    """`journal` is the venue, unless there is a venue: then it is kept in extra."""
    assert paper(journal="J", keyphrases=["k"], subjects=["s"]).venue == "J"
    found = paper(venue="V", journal="J")
    assert (found.venue, found.extra) == ("V", {"journal": "J"})


@pytest.mark.parametrize(
    "given", ["https://doi.org/10.1000/ABC", "doi:10.1000/abc", "http://dx.doi.org/10.1000/Abc", " 10.1000/ABC "]
)
def test_dois_have_one_form(given: str) -> None:
    """Without resolver, in lower case."""
    assert paper(doi=given).doi == "10.1000/abc"


@pytest.mark.parametrize("given", [2019, "2019", "2019.0", 2019.0])
def test_years_are_whole_numbers_however_written(given: Any) -> None:
    """Numbers, digits, and what spreadsheets make of them."""
    assert paper(year=given).year == 2019


def test_the_year_is_taken_from_the_date() -> None:
    """A date without year gives the year; a date may have a time, which is cut off."""
    assert paper(date="2019-07").year == 2019
    assert paper(date="2019-07-31T12:00:00Z").date == "2019-07-31"
    assert paper(date="2019", year=2020).year == 2020


def test_ids_may_be_whole_numbers() -> None:
    """Databases hand them out; they are text here."""
    assert paper(id=17, references=[1, "b"]).id == "17"
    assert paper(references=[1, "b"]).references == ("1", "b")


def test_an_embargo_closes_a_record_that_says_nothing_of_access() -> None:
    """What has an end of embargo is not open before it."""
    assert paper(embargo_end="2031-01-01").access == "embargoed"
    assert paper(access="embargoed").access == "embargoed"
    assert paper(access="").access == "open"


def test_a_tombstone_needs_no_title() -> None:
    """Deleted records carry an id and little else."""
    assert paper(title="", deleted="true").deleted


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"id": None}, "id is missing"),
        ({"id": " "}, "id is empty"),
        ({"id": "\u200b"}, "id is empty"),
        ({"id": 1.5}, "id must be text, not a number"),
        ({"id": True}, "id must be text, not a boolean"),
        ({"id": "x" * 513}, "id has 513 characters, the limit is 512"),
        ({"title": None}, "title is missing"),
        ({"title": "\n"}, "title is empty"),
        ({"title": 5}, "title must be text, not a number"),
        ({"title": "x" * 5001}, "title has 5,001 characters"),
        ({"title": "a\x00b"}, "title holds a NUL"),
        ({"title": "a\ud800b"}, r"title holds a lone surrogate (\ud800)"),
        ({"title": "", "abstract": "Text."}, "--title-from-abstract"),
        ({"abstract": {"text": "x"}}, "abstract must be text, not an object"),
        ({"abstract": ["a", 1]}, "abstract[1] must be text, not a number"),
        ({"abstract": "x" * 200_001}, "abstract has 200,001 characters"),
        ({"abstract": ["x" * 150_000] * 2}, "abstract has 300,001 characters"),
        ({"authors": 5}, "authors must be a list of texts, not a number"),
        ({"authors": [{"orcid": "0"}]}, "authors[0] is an object without"),
        ({"authors": [["a"]]}, "authors[0] must be text, not a list"),
        ({"authors": ["a"] * 10_001}, "authors has 10,001 items"),
        ({"year": "soon"}, "year must be a year in digits, not 'soon'"),
        ({"year": True}, "year must be a year in digits"),
        ({"year": 2019.5}, "year must be a year in digits, not 2019.5"),
        ({"year": 999}, "year 999 is not between 1000 and 2100"),
        ({"year": "2101"}, "year '2101' is not between"),
        ({"year": 10**400}, "year a number is not between"),
        ({"date": "2019-02-30"}, "date '2019-02-30' is not a date"),
        ({"date": "31.7.2019"}, "write it as YYYY, YYYY-MM or YYYY-MM-DD"),
        ({"date": "0019"}, "date '0019' is not a date from 1000 to 2100"),
        ({"embargo_end": "2031"}, "embargo_end '2031' is not a date"),
        ({"access": "free"}, "access 'free' is not one of open, embargoed, restricted, metadata_only"),
        ({"deleted": "perhaps"}, "deleted must be true or false, not 'perhaps'"),
        ({"venue": ["J"]}, "venue must be text, not a list"),
        ({"extra": 1}, "extra must be an object, not a number"),
        ({"more": "\x00"}, "more holds a NUL"),
        ({"more": {"deep": ["\udc00"]}}, "more holds a lone surrogate"),
        ({"a\x00": 1}, "a field's name holds a NUL"),
        ({"more": 2**63}, "more holds a number beyond 64 bits"),
        ({"more": "x" * 100_000}, "(more) have"),
    ],
)
def test_what_is_wrong_is_said(fields: dict[str, Any], expected: str) -> None:
    """Each refusal has file and line, the field, and what is wrong with it."""
    error = refusal(**fields)
    assert expected in error.reason
    assert error.where == "papers.jsonl:17"
    assert str(error).startswith("papers.jsonl:17: ")


def test_a_refusal_keeps_the_record() -> None:
    """What goes into the rejects file is the record, unchanged."""
    error = refusal(year="soon", more=[1])
    assert json.loads(error.raw) == {"id": "p1", "title": "On things", "year": "soon", "more": [1]}
    assert error.record_id == "p1"


def test_the_title_is_taken_from_the_abstract_on_demand() -> None:
    """The first sentence, as a person would see it or as the source gave it; the abstract stays whole."""
    text = "We study E. coli, e.g. in Fig. 3. It grows."
    for abstract, expected in ((text, "We study E. coli, e.g. in Fig. 3."), (["One", "Two"], "One")):
        found = paper_from_record(Record("x", {"id": "1", "abstract": abstract}), title_from_abstract=True)
        assert isinstance(found, Paper)
        assert found.title == expected
        assert found.abstract.endswith(("It grows.", "Two"))


def test_a_first_sentence_too_long_for_a_title_is_refused() -> None:
    """It is not cut silently."""
    record = Record("x", {"id": "1", "abstract": "word " * limits.TEXT_CHARS})
    found = paper_from_record(record, title_from_abstract=True)
    assert isinstance(found, RecordError)
    assert "title has" in found.reason
