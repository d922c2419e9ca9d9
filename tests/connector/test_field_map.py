"""Documents of other people's indices become papers: paths, lists, dates, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sciret.connector.field_map import FieldMap, joined, value_at
from sciret.connector.reader import Document
from sciret.errors import RecordError, SettingsError
from sciret.paper import Paper


def paper(source: dict[str, Any], document_id: str = "d1", **paths: str) -> Paper | RecordError:
    title = paths.pop("title", "title")
    abstract = paths.pop("abstract", "abstract")
    return FieldMap.of(title, abstract, paths).paper(Document(document_id, "library", source))


def accepted(source: dict[str, Any], **paths: str) -> Paper:
    found = paper({"title": "T", **source}, **paths)
    assert isinstance(found, Paper)
    return found


def refused(source: dict[str, Any], document_id: str = "d1", **paths: str) -> RecordError:
    found = paper(source, document_id, **paths)
    assert isinstance(found, RecordError)
    return found


@pytest.mark.parametrize(
    ("source", "path", "value"),
    [
        ({"a": {"b": 1}}, "a.b", 1),
        ({"a.b": 1}, "a.b", 1),
        ({"a": {"b.c": 1}}, "a.b.c", 1),
        ({"a": [{"b": 1}, {"b": 2}, {"c": 3}]}, "a.b", [1, 2]),
        ({"a": {"b": [1, [2, None]]}}, "a.b", [1, 2]),
        ({"a": {"b": {"c": 1}}}, "a.b", {"c": 1}),
        ({"a": 1}, "a.b", None),
        ({"a": None}, "a", None),
        ({}, "a.b", None),
        ({"a": []}, "a", []),
    ],
)
def test_paths(source: dict[str, Any], path: str, value: Any) -> None:
    """As OpenSearch reads them: objects, lists of objects, and names with dots in them."""
    assert value_at(source, path) == value


def test_fields_by_their_paths() -> None:
    source = {
        "bib": {"titel": "Moss", "kurz": "On moss."},
        "pub": {"year": "2019", "wo": ["Nature", "Other"], "am": "2019-05-02T10:00:00Z"},
        "people": [{"name": "A. Alder"}, {"name": "B. Birch"}],
        "tags": "moss; peat",
        "rights": "restricted",
        "refs": 17,
    }
    found = accepted(
        source,
        title="bib.titel",
        abstract="bib.kurz",
        year="pub.year",
        venue="pub.wo",
        date="pub.am",
        authors="people.name",
        keywords="tags",
        access="rights",
        references="refs",
    )
    assert found == Paper(
        "d1",
        "Moss",
        "On moss.",
        year=2019,
        venue="Nature",
        date="2019-05-02",
        authors=("A. Alder", "B. Birch"),
        keywords=("moss", "peat"),
        access="restricted",
        references=("17",),
    )


def test_texts_in_several_parts_are_one_text() -> None:
    """Title and subtitle, paragraphs: the parts of an abstract are not its sentences."""
    found = accepted({"title": ["Moss ", "a life"], "abstract": ["First. And second", "Third."]})
    assert found.title == "Moss: a life"
    assert found.abstract == "First. And second. Third."
    assert found.sentences == ()
    assert joined(["Is it?", "It is"], ": ") == "Is it? It is"
    assert accepted({"title": 1984}).title == "1984"


def test_the_items_of_a_list_are_not_taken_apart() -> None:
    assert accepted({"k": ["a, b", "c; d"]}, keywords="k").keywords == ("a, b", "c; d")
    assert accepted({"k": "a, b"}, keywords="k").keywords == ("a", "b")


def test_dates_as_opensearch_takes_them() -> None:
    assert accepted({"d": 1556791200000}, date="d").date == "2019-05-02"
    assert accepted({"d": 2019}, date="d").date == "2019"
    assert accepted({"d": "2019-05-02"}, year="d").year == 2019
    assert accepted({"d": 1556791200000}, year="d").year == 2019
    assert accepted({"d": 2019}, year="d").year == 2019


def test_a_document_without_a_title_is_refused_by_index_and_id() -> None:
    """The rejects file has what is there, so that it can be corrected and ingested."""
    error = refused({"abstract": "Something."})
    assert error.where == "library/d1"
    assert "title" in error.reason
    assert json.loads(error.raw) == {"id": "d1", "abstract": "Something."}
    found = FieldMap.of("title", "abstract", {}).paper(
        Document("d1", "library", {"abstract": "One here. Two."}), title_from_abstract=True
    )
    assert isinstance(found, Paper)
    assert found.title == "One here."


def test_values_that_cannot_be_are_refused() -> None:
    assert "year" in refused({"title": "T", "y": 99999999999999999999}, year="y").reason
    assert "title must be text" in refused({"title": {"de": "T"}}).reason


@pytest.mark.parametrize("document_id", [" a", "a  b", "e\u0301", "sha256:" + "0" * 64])
def test_an_id_that_could_not_be_the_same_is_refused(document_id: str) -> None:
    """Otherwise a paper would be found by an id that the existing index does not have."""
    assert "_id" in refused({"title": "T"}, document_id).reason


def test_mappings_that_cannot_be_are_refused() -> None:
    with pytest.raises(SettingsError, match="no such field; there are title"):
        FieldMap.of("t", None, {"yaer": "pub.year"})
    with pytest.raises(SettingsError, match="no such field"):
        FieldMap.of("t", None, {"id": "key"})
    with pytest.raises(SettingsError, match="--title"):
        FieldMap.of("t", None, {"title": "x"})
    with pytest.raises(SettingsError, match=r"write it like pub\.year"):
        FieldMap.of("t", None, {"year": "pub..year"})


def test_only_what_is_needed_is_read() -> None:
    assert FieldMap.of("t", "a.b", {"venue": "t", "year": "y"}).source_fields == ["a.b", "t", "y"]
    assert FieldMap.of("t", None, {}).paths == {"title": "t"}
