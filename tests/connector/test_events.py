"""Events as documents: UBI for searches, ECS for ingests."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from sciret.connector.events import COUNTS, Search, Stretch, ingest_event, search_event, timestamp
from sciret.mappings.events import INGEST_EVENTS, UBI_QUERIES, event_template

NOW = datetime(2025, 3, 1, 12, 0, 0, 250_000, UTC)
SEARCH = Search(
    store="papers",
    text="sea ice",
    like=None,
    sentences=(),
    aspect=None,
    model="abc",
    hit_ids=("a", "b"),
    skipped=0,
    top_score=0.5,
    encode_seconds=0.25,
    search_seconds=0.0125,
    settings={"k": 10, "where": "year>=2015"},
)
STRETCH = Stretch("run", "papers", "abc", {**dict.fromkeys(COUNTS, 0), "read": 100, "written": 90}, 2.0)


def properties(index: str) -> dict[str, Any]:
    found: dict[str, Any] = event_template(index)["template"]["mappings"]["properties"]
    return found


def test_a_search_has_every_field_of_ubi() -> None:
    """Its readers join hits, queries and later clicks by these names."""
    event = search_event(SEARCH, NOW)
    assert event["user_query"] == "sea ice"
    assert event["query_response_hit_ids"] == ["a", "b"]
    assert event["object_id_field"] == "id"
    assert event["application"] == "sciret"
    assert set(event) == set(properties(UBI_QUERIES)) - {"query"}
    assert event["query_id"] != search_event(SEARCH, NOW)["query_id"]


def test_attributes_are_scalars() -> None:
    """UBI's own reader takes query_attributes as a map of strings: a list in it would make it give up."""
    event = search_event(replace(SEARCH, like="p1", sentences=(2, 3), text=None), NOW)
    attributes: Any = event["query_attributes"]
    assert all(isinstance(value, str | int | float) for value in attributes.values())
    assert attributes["sentences"] == "2,3"
    assert attributes["k"] == 10


def test_what_is_counted_is_typed() -> None:
    """Each figure of a search stands under `sciret`, where the template gives it a type."""
    event = search_event(SEARCH, NOW)
    figures: Any = event["sciret"]
    assert figures == {
        "store": "papers",
        "kind": "text",
        "model": "abc",
        "hits": 2,
        "latency_ms": 12.5,
        "encode_ms": 250.0,
        "top_score": 0.5,
    }
    assert set(figures) == set(properties(UBI_QUERIES)["sciret"]["properties"])


@pytest.mark.parametrize(
    ("like", "sentences", "aspect", "kind", "shown"),
    [
        (None, (), None, "text", "sea ice"),
        ("p1", (), None, "paper", "like:p1"),
        ("p1", (1,), None, "aspect", "like:p1"),
        ("p1", (), "method", "aspect", "like:p1"),
    ],
)
def test_kinds_of_question(
    like: str | None, sentences: tuple[int, ...], aspect: str | None, kind: str, shown: str
) -> None:
    """A question by a paper is named by the paper's id."""
    search = replace(SEARCH, like=like, sentences=sentences, aspect=aspect)
    assert search.kind == kind
    assert search_event(search, NOW)["user_query"] == shown


def test_no_hits_is_zero_and_no_score() -> None:
    """The zero-hit panel looks for `hits: 0`."""
    figures: Any = search_event(replace(SEARCH, hit_ids=(), top_score=None), NOW)["sciret"]
    assert figures["hits"] == 0
    assert "top_score" not in figures


def test_a_page_past_the_end_is_no_search_without_hits() -> None:
    """There were hits on the pages before."""
    figures: Any = search_event(replace(SEARCH, hit_ids=(), skipped=20, top_score=None), NOW)["sciret"]
    assert figures["hits"] == 20


def test_nothing_says_who_asked() -> None:
    """Neither user nor machine: an event has only what the search itself was."""
    import getpass
    import socket

    text = json.dumps(search_event(SEARCH, NOW))
    assert socket.gethostname() not in text
    assert f'"{getpass.getuser()}"' not in text


def test_bytes_that_are_no_text_can_be_logged() -> None:
    """A command line brings them as lone surrogates, which no JSON can carry."""
    event = search_event(replace(SEARCH, text="caf\udce9"), NOW)
    assert json.dumps(event, ensure_ascii=False).encode("utf-8")
    assert event["user_query"] == "caf?"


def test_an_ingest_has_ecs_names() -> None:
    """Duration is in nanoseconds there."""
    event: Any = ingest_event(STRETCH, NOW)
    assert event["@timestamp"] == event["event"]["end"] == "2025-03-01T12:00:00.250Z"
    assert event["event"]["start"] == "2025-03-01T11:59:58.250Z"
    assert event["event"]["duration"] == 2_000_000_000
    assert event["event"]["action"] == "ingest-progress"
    assert "outcome" not in event["event"]
    assert event["sciret"]["papers_per_second"] == 50.0


def test_the_end_of_an_ingest_says_how_it_went() -> None:
    """With the error where there was one."""
    event: Any = ingest_event(STRETCH, NOW, "failure", ValueError("the disk is full"))
    assert event["event"]["action"] == "ingest-end"
    assert event["event"]["outcome"] == "failure"
    assert event["error"] == {"type": "ValueError", "message": "the disk is full"}


def test_an_ingest_event_has_no_field_that_the_template_does_not_type() -> None:
    """It would be stored, but no panel could show it."""
    event: Any = ingest_event(STRETCH, NOW, "failure", ValueError("x"))
    mapped = properties(INGEST_EVENTS)
    assert set(event) == set(mapped)
    for name, value in event.items():
        if isinstance(value, dict):
            assert set(value) <= set(mapped[name]["properties"])


def test_times_are_utc_with_milliseconds() -> None:
    """Whatever zone a moment is given in."""
    assert timestamp(datetime(2025, 3, 1, 2, tzinfo=timezone(timedelta(hours=2)))) == "2025-03-01T00:00:00.000Z"
