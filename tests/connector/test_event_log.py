"""Events on a real server: their indices, how they get along with the UBI plugin's, and what a failure does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opensearchpy import OpenSearch

from sciret.connector import event_log
from sciret.connector.event_log import EVERY, EventLog, IngestLog, log_search, prepare_index
from sciret.connector.events import COUNTS, Search
from sciret.mappings import events
from sciret.mappings.events import INGEST_EVENTS, UBI_QUERIES, event_template

PLUGIN_MAPPING = {
    "dynamic": False,
    "properties": {
        "timestamp": {"type": "date", "format": "strict_date_time"},
        "query_id": {"type": "keyword", "ignore_above": 100},
        "query": {"type": "text"},
        "query_response_id": {"type": "keyword", "ignore_above": 100},
        "query_response_hit_ids": {"type": "keyword"},
        "user_query": {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}},
        "query_attributes": {"type": "flat_object"},
        "client_id": {"type": "keyword", "ignore_above": 100},
        "application": {"type": "keyword", "ignore_above": 100},
    },
}
"""The mapping that OpenSearch's plugin for User Behavior Insights gives to the index when it makes it."""


@pytest.fixture
def client(opensearch: Any) -> Iterator[OpenSearch]:
    with OpenSearch(opensearch.url) as opened:
        yield opened


@pytest.fixture
def ubi_index(unique_name: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> str:
    """An index of searches under a name of its own: a server that is in use has a ubi_queries of its own."""
    name = unique_name()
    monkeypatch.setitem(events._FILES, name, "ubi_queries.json")
    return name


def search(store: str, **given: Any) -> Search:
    return Search(
        **{
            "store": store,
            "text": "sea ice",
            "like": None,
            "sentences": (),
            "aspect": None,
            "model": "abc",
            "hit_ids": ("a",),
            "skipped": 0,
            "top_score": 0.5,
            "encode_seconds": 0.1,
            "search_seconds": 0.02,
            "settings": {},
            **given,
        }
    )


def fail(message: str) -> None:
    raise AssertionError(message)


def found(client: OpenSearch, index: str, store: str) -> list[dict[str, Any]]:
    client.indices.refresh(index=index)
    body = {"query": {"term": {"sciret.store": store}}, "sort": [{"_doc": "asc"}]}
    return [hit["_source"] for hit in client.search(index=index, body=body)["hits"]["hits"]]


def test_a_search_is_logged_and_can_be_counted(client: OpenSearch, unique_name: Callable[[], str]) -> None:
    """Latency has percentiles, and a text has its words and itself."""
    store = unique_name()
    log_search(client, search(store), fail)
    log_search(client, search(store, search_seconds=0.04), fail)
    assert [event["user_query"] for event in found(client, UBI_QUERIES, store)] == ["sea ice"] * 2
    aggregation = {"ms": {"percentiles": {"field": "sciret.latency_ms", "percents": [100]}}}
    query = {"bool": {"must": [{"term": {"sciret.store": store}}, {"match": {"user_query": "ICE"}}]}}
    answer = client.search(index=UBI_QUERIES, body={"size": 0, "query": query, "aggs": aggregation})
    assert answer["aggregations"]["ms"]["values"]["100.0"] == 40.0


def test_an_index_that_the_ubi_plugin_made_is_used_as_it_is(client: OpenSearch, ubi_index: str) -> None:
    """Only our own object is added to its mapping, and an event fits in."""
    client.indices.create(index=ubi_index, body={"mappings": PLUGIN_MAPPING})
    EventLog(client, ubi_index, fail).write({"timestamp": "2025-03-01T00:00:00.000Z", "sciret": {"latency_ms": 2.5}})
    properties = client.indices.get_mapping(index=ubi_index)[ubi_index]["mappings"]["properties"]
    assert properties["query_attributes"] == {"type": "flat_object"}
    assert properties["sciret"]["properties"]["latency_ms"] == {"type": "float"}


def test_the_ubi_plugin_can_still_make_the_index_where_our_template_is(
    client: OpenSearch, unique_name: Callable[[], str]
) -> None:
    """With another type for query_attributes the server would refuse it."""
    name = unique_name()
    client.indices.put_index_template(
        name=f"sciret-{name}", body={**event_template(UBI_QUERIES), "index_patterns": [name], "priority": 501}
    )
    client.indices.create(index=name, body={"mappings": PLUGIN_MAPPING})
    properties = client.indices.get_mapping(index=name)[name]["mappings"]["properties"]
    assert properties["timestamp"]["format"] == "strict_date_time"
    assert properties["sciret"]["properties"]["latency_ms"] == {"type": "float"}


def test_two_that_make_the_index_at_once_both_go_on(client: OpenSearch, ubi_index: str) -> None:
    """The one that comes second finds it made, with every field as it should be."""
    event_log._create(client, ubi_index)
    event_log._create(client, ubi_index)
    prepare_index(client, ubi_index)
    properties = client.indices.get_mapping(index=ubi_index)[ubi_index]["mappings"]["properties"]
    assert properties["query_attributes"] == {"type": "flat_object"}
    assert properties["sciret"]["properties"]["latency_ms"] == {"type": "float"}


def test_the_events_of_an_ingest_add_up(client: OpenSearch, unique_name: Callable[[], str]) -> None:
    """Each has what came since the one before; one that comes too soon is left out."""
    store, clock = unique_name(), [0.0]
    log = IngestLog(client, store, "abc", fail, clock=lambda: clock[0])
    for seconds, read in ((0.0, 0), (EVERY - 1, 500), (EVERY + 1, 600), (EVERY + 2, 640)):
        clock[0] = seconds
        log.progress({**dict.fromkeys(COUNTS, 0), "read": read, "written": read})
    clock[0] = EVERY + 11
    log.end({**dict.fromkeys(COUNTS, 0), "read": 700, "written": 690, "refused": 10})
    stretches = found(client, INGEST_EVENTS, store)
    assert [each["event"]["action"] for each in stretches] == ["ingest-progress", "ingest-end"]
    assert [each["sciret"]["read"] for each in stretches] == [600, 100]
    assert [each["sciret"]["refused"] for each in stretches] == [0, 10]
    assert stretches[1]["sciret"]["papers_per_second"] == 10.0
    assert stretches[1]["event"]["outcome"] == "success"
    assert len({each["sciret"]["run"] for each in stretches}) == 1


@pytest.mark.parametrize(
    ("how", "outcome"), [({"interrupted": True}, "unknown"), ({"error": ValueError("disk full")}, "failure")]
)
def test_an_ingest_that_did_not_end_well_says_so(
    client: OpenSearch, unique_name: Callable[[], str], how: dict[str, Any], outcome: str
) -> None:
    """Interrupted is not failed: it can be continued."""
    store = unique_name()
    IngestLog(client, store, "abc", fail).end(dict.fromkeys(COUNTS, 0), **how)
    (event,) = found(client, INGEST_EVENTS, store)
    assert event["event"]["outcome"] == outcome


def test_a_server_that_is_gone_costs_a_warning_and_no_second_try() -> None:
    """An ingest of hours must not wait for it every half minute."""
    warnings: list[str] = []
    with OpenSearch("http://127.0.0.1:9", max_retries=0) as nobody:
        log = EventLog(nobody, INGEST_EVENTS, warnings.append)
        log.write({})
        log.write({})
    (warning,) = warnings
    assert INGEST_EVENTS in warning


def test_an_event_that_the_server_refuses_is_a_warning(client: OpenSearch) -> None:
    """With the server's reason."""
    warnings: list[str] = []
    EventLog(client, INGEST_EVENTS, warnings.append).write({"@timestamp": "yesterday"})
    assert "mapper_parsing_exception" in warnings[0]
