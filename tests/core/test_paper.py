"""Paper: the way through JSON and back, the hash that tells records apart, and who may find it when."""

from __future__ import annotations

import datetime
import json
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciret.paper import ACCESS, Paper

TEXT = st.text(max_size=12)
NAME = st.text(min_size=1, max_size=12)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
PAPERS = st.builds(
    Paper,
    id=NAME,
    title=NAME,
    abstract=TEXT,
    sentences=TEXTS,
    authors=TEXTS,
    year=st.none() | st.integers(-5000, 3000),
    date=st.none() | st.dates().map(str),
    keywords=TEXTS,
    venue=st.none() | NAME,
    doi=st.none() | NAME,
    url=st.none() | NAME,
    language=st.none() | NAME,
    type=st.none() | NAME,
    collections=TEXTS,
    source=st.none() | NAME,
    access=st.sampled_from(ACCESS),
    embargo_end=st.none() | st.dates().map(str),
    deleted=st.booleans(),
    references=TEXTS,
    extra=st.dictionaries(TEXT, JSON, max_size=3),
)

FULL = Paper(
    id="p1",
    title="Title",
    abstract="One. Two.",
    sentences=("One.", "Two."),
    authors=("Ada", "Bo"),
    year=2019,
    date="2019-07-31",
    keywords=("k",),
    venue="Venue",
    doi="10.1/x",
    url="u",
    language="en",
    type="article",
    collections=("c",),
    source="s",
    access="embargoed",
    embargo_end="2030-01-01",
    deleted=True,
    references=("p2",),
    extra={"pages": "1-2", "nested": {"a": [1, None]}},
)
OTHER: dict[str, Any] = {
    "sentences": ("One. Two.",),
    "authors": ("Bo", "Ada"),
    "year": 0,
    "date": "2019-07",
    "keywords": ("k", "k"),
    "collections": ("c", ""),
    "access": "open",
    "deleted": False,
    "references": (),
    "extra": {"pages": "1-2", "nested": {"a": [None, 1]}},
}
"""For each field a value near to FULL's; fields of text that are not here get a letter more."""


@settings(deadline=None)
@given(PAPERS)
def test_a_paper_survives_json(paper: Paper) -> None:
    """Field by field, with tuples as tuples, and its hash with it."""
    back = Paper.from_dict(json.loads(json.dumps(paper.to_dict())))
    assert back == paper
    assert back.content_hash == paper.content_hash


def test_only_what_is_there_is_written() -> None:
    """Empty fields take no room; a year of 0 is a year."""
    assert Paper("p", "T").to_dict() == {"id": "p", "title": "T", "access": "open"}
    assert Paper("p", "T", year=0, deleted=True).to_dict() == {
        "id": "p",
        "title": "T",
        "year": 0,
        "access": "open",
        "deleted": True,
    }


@pytest.mark.parametrize("name", [f.name for f in fields(Paper)])
def test_the_hash_sees_every_field(name: str) -> None:
    """A change that a re-ingest must not skip; the field's own default is another such change."""
    changed = replace(FULL, **{name: OTHER[name] if name in OTHER else getattr(FULL, name) + "x"})
    assert changed.content_hash != FULL.content_hash
    assert replace(changed, **{name: getattr(FULL, name)}).content_hash == FULL.content_hash


def test_the_hash_is_the_same_in_every_process_and_release() -> None:
    """Stores keep it: another value would make every paper look changed."""
    assert Paper("p", "T").content_hash == "af7bc196fdb945005b20ce5e8947746d304250f4a041d4073bf2cb1eb51e6949"


def test_the_hash_does_not_depend_on_the_order_of_extra_fields() -> None:
    one, two = Paper("p", "T", extra={"a": 1, "b": 2}), Paper("p", "T", extra={"b": 2, "a": 1})
    assert one.content_hash == two.content_hash


def test_a_hash_exists_for_any_text() -> None:
    """Also for a lone surrogate, which no encoding can write."""
    assert len(Paper("p", "T\ud800").content_hash) == 64


@pytest.mark.parametrize(
    ("access", "embargo_end", "searchable"),
    [
        ("open", None, True),
        ("open", "2030-06-01", True),
        ("restricted", None, False),
        ("restricted", "2000-01-01", False),
        ("metadata_only", None, False),
        ("embargoed", None, False),
        ("embargoed", "2024-06-14", True),
        ("embargoed", "2024-06-15", True),
        ("embargoed", "2024-06-16", False),
        ("embargoed", "2025-01-01", False),
    ],
)
def test_an_embargo_ends_by_itself(access: Any, embargo_end: str | None, searchable: bool) -> None:
    """On the day it names the paper is open; only embargoed papers have such a day, and without one it never comes."""
    paper = Paper("p", "T", access=access, embargo_end=embargo_end)
    assert paper.is_searchable(datetime.date(2024, 6, 15)) is searchable


@settings(deadline=None)
@given(st.dates(datetime.date(1900, 1, 1), datetime.date(2200, 1, 1)), st.integers(-40, 40))
def test_an_embargo_holds_until_its_last_day(end: datetime.date, days: int) -> None:
    """Across ends of months and years."""
    paper = Paper("p", "T", access="embargoed", embargo_end=end.isoformat())
    assert paper.is_searchable(end + datetime.timedelta(days)) is (days >= 0)


def test_an_embargo_is_compared_with_today() -> None:
    today = datetime.date.today()
    ended, running = (today - datetime.timedelta(2)).isoformat(), (today + datetime.timedelta(2)).isoformat()
    assert Paper("p", "T", access="embargoed", embargo_end=ended).is_searchable()
    assert not Paper("p", "T", access="embargoed", embargo_end=running).is_searchable()


def test_the_text_is_title_and_abstract() -> None:
    assert Paper("p", "T").text == "T"
    assert Paper("p", "T", abstract="A").text == "T\nA"


def test_a_paper_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        FULL.title = "Other"  # type: ignore[misc]  # that is the point


def test_an_unknown_field_is_not_taken() -> None:
    with pytest.raises(TypeError, match="titel"):
        Paper.from_dict({"id": "p", "title": "T", "titel": "T"})
