"""Every panel, on a real server: its field is there and can be aggregated, and it shows what was written.

The index has the mapping that sciret gives it, its documents are made as an ingest makes them, and the events are
written as commands write them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from sciret.connector.address import Address
from sciret.connector.client import Client, connect
from sciret.connector.documents import to_document
from sciret.connector.event_log import IngestLog, log_search
from sciret.connector.events import COUNTS, Search
from sciret.connector.indices import IndexOptions, create_index, index_meta, index_name
from sciret.encoded import EncodedPaper
from sciret.mappings.dashboards import saved_objects
from sciret.mappings.events import INGEST_EVENTS, UBI_QUERIES
from sciret.paper import Paper

MODEL = "f" * 64
NUMERIC = {"byte", "short", "integer", "long", "half_float", "float", "double", "date"}
TYPES = {
    "terms": {"keyword", "boolean", "integer"},
    "cardinality": {"keyword"},
    "histogram": NUMERIC - {"date"},
    "date_histogram": {"date"},
    **dict.fromkeys(("sum", "avg", "min", "max", "percentiles"), NUMERIC),
}
"""What a field must be for an aggregation on it to make sense."""


@dataclass(frozen=True)
class Visualization:
    """One saved object, read as Dashboards reads it."""

    name: str
    index: str
    state: Mapping[str, Any]
    query: str

    def body(self) -> dict[str, Any]:
        """The request that Dashboards makes of it: metrics inside buckets, each bucket inside the one before."""
        aggregations: dict[str, Any] = {
            agg["id"]: {agg["type"]: parameters(agg)} for agg in self.aggs("metric") if agg["type"] != "count"
        }
        counted = {agg["id"] for agg in self.aggs("metric") if agg["type"] == "count"}
        for agg in reversed(self.buckets()):
            aggregations = {agg["id"]: {agg["type"]: parameters(agg, counted), "aggs": aggregations}}
        query = {"query_string": {"query": self.query}} if self.query else {"match_all": {}}
        return {"size": 0, "track_total_hits": True, "query": query, "aggs": aggregations}

    def aggs(self, schema: str) -> list[Mapping[str, Any]]:
        return [agg for agg in self.state["aggs"] if agg["schema"] == schema]

    def buckets(self) -> list[Mapping[str, Any]]:
        return [agg for agg in self.state["aggs"] if agg["schema"] != "metric"]


def parameters(agg: Mapping[str, Any], counted: set[str] = frozenset()) -> dict[str, Any]:  # type: ignore[assignment]
    given = agg["params"]
    match agg["type"]:
        case "terms":
            by = "_count" if given["orderBy"] in counted else given["orderBy"]
            found = {"field": given["field"], "size": given["size"], "order": {by: given["order"]}}
            return {**found, "missing": "__missing__"} if given["missingBucket"] else found
        case "histogram":
            return {"field": given["field"], "interval": given["interval"]}
        case "date_histogram":
            assert given["interval"] == "auto"
            return {"field": given["field"], "calendar_interval": "1d"}
        case "filters":
            assert all(part["input"]["language"] == "lucene" for part in given["filters"])
            parts = {part["label"]: {"query_string": {"query": part["input"]["query"]}} for part in given["filters"]}
            return {"filters": parts}
        case "percentiles":
            return {"field": given["field"], "percents": given["percents"]}
        case _:
            return {"field": given["field"]}


def read(alias: str) -> dict[str, Visualization]:
    """From the text that is imported, by the name of the panel."""
    things = [json.loads(json.dumps(thing)) for thing in saved_objects(alias)]
    patterns = {thing["id"]: thing["attributes"]["title"] for thing in things if thing["type"] == "index-pattern"}
    found = {}
    for thing in things:
        if thing["type"] == "visualization":
            attributes = thing["attributes"]
            source = json.loads(attributes["kibanaSavedObjectMeta"]["searchSourceJSON"])
            (reference,) = thing["references"]
            name = thing["id"].removeprefix(f"sciret-{alias}-")
            found[name] = Visualization(
                name, patterns[reference["id"]], json.loads(attributes["visState"]), source["query"]["query"]
            )
    return found


NAMES = list(read("papers"))
FIELDS = [
    (name, agg["type"], agg["params"]["field"])
    for name, each in read("papers").items()
    for agg in each.state["aggs"]
    if "field" in agg["params"]
]


@dataclass(frozen=True)
class Filled:
    client: Client
    panels: Mapping[str, Visualization]

    def show(self, name: str) -> Any:
        panel = self.panels[name]
        return self.client.call("POST", f"/{panel.index}/_search", panel.body())


@pytest.fixture(scope="module")
def filled(opensearch: Any) -> Iterator[Filled]:
    """A store with three papers and their events, under an alias of its own."""
    alias = f"panels-{datetime.now(UTC):%H%M%S%f}"
    client = connect(Address.parse(f"{opensearch.url}/{alias}"))
    write_papers(client, alias)
    write_events(client, alias)
    client.call("POST", f"/{alias},{INGEST_EVENTS},{UBI_QUERIES}/_refresh")
    yield Filled(client, read(alias))
    client.call("DELETE", f"/{index_name(alias, 1)}")
    client.call("DELETE", f"/_index_template/sciret-{alias}")
    for index in (INGEST_EVENTS, UBI_QUERIES):
        client.call("POST", f"/{index}/_delete_by_query", {"query": {"term": {"sciret.store": alias}}})
    client.close()


def write_papers(client: Client, alias: str) -> None:
    options = IndexOptions(replicas=0)
    create_index(client, index_name(alias, 1), options, index_meta(options, model=MODEL, dims=4), alias=alias)
    papers = (
        Paper(
            id="a",
            title="Sea ice",
            abstract="It is thin.",
            year=2020,
            language="en",
            venue="Polar Notes",
            collections=("ice", "sea"),
        ),
        Paper(id="b", title="Snow", year=2020, collections=("ice",), access="restricted"),
        Paper(id="c", title="Rain", abstract="It falls.", year=2022, language="de"),
    )
    for paper in papers:
        vector = np.full(4, 0.5, np.float32)
        encoded = EncodedPaper(
            paper=paper,
            keyphrases={"sea ice": 1.5} if paper.id == "a" else {},
            dense=vector,
            sentences=(paper.title,),
            sentence_vectors=vector[None],
            model=MODEL,
        )
        document = to_document(encoded, nested=True, beta=0.25, now=datetime.now(UTC))
        client.call("PUT", f"/{alias}/_doc/{paper.id}", document)


def write_events(client: Client, alias: str) -> None:
    log = IngestLog(client.api, alias, MODEL, pytest.fail)
    log.end({**dict.fromkeys(COUNTS, 0), "read": 4, "written": 3, "refused": 1})
    for text, hits, score, seconds in (
        ("ice", ("a", "b"), 0.75, 0.02),
        ("ice", ("a",), 0.5, 0.04),
        ("fire", (), None, 1),
    ):
        search = Search(alias, text, None, (), None, MODEL, hits, 0, score, 0.1, seconds, {})
        log_search(client.api, search, pytest.fail)


@pytest.mark.parametrize(("name", "kind", "field"), FIELDS)
def test_the_field_is_mapped_and_can_be_aggregated(filled: Filled, name: str, kind: str, field: str) -> None:
    """The server answers an aggregation on a field that is not there with nothing, so the mapping is asked as well."""
    index = filled.panels[name].index
    found = filled.client.call("GET", f"/{index}/_field_caps", params={"fields": field})["fields"]
    assert field in found, f"{index} has no field {field}"
    (caps,) = found[field].values()
    assert caps["aggregatable"]
    assert caps["type"] in TYPES[kind]


@pytest.mark.parametrize("name", NAMES)
def test_the_panel_runs_and_shows_something(filled: Filled, name: str) -> None:
    """All its shards answer, something matches, and every level of it has a bucket with documents."""
    answer = filled.show(name)
    assert answer["_shards"]["failed"] == 0
    assert answer["hits"]["total"]["value"] > 0
    check_levels(answer.get("aggregations", {}), filled.panels[name].buckets())
    check_metrics(answer, filled.panels[name])


def check_levels(found: Mapping[str, Any], levels: list[Mapping[str, Any]]) -> None:
    if levels:
        buckets = found[levels[0]["id"]]["buckets"]
        full = [each for each in (buckets.values() if isinstance(buckets, dict) else buckets) if each["doc_count"]]
        assert full
        check_levels(full[0], levels[1:])


def check_metrics(answer: Any, panel: Visualization) -> None:
    """At the innermost level each has a number."""
    inner = answer.get("aggregations", {})
    for level in panel.buckets():
        buckets = inner[level["id"]]["buckets"]
        inner = next(each for each in (buckets.values() if isinstance(buckets, dict) else buckets) if each["doc_count"])
    for agg in panel.aggs("metric"):
        if agg["type"] == "percentiles":
            assert all(value is not None for value in inner[agg["id"]]["values"].values())
        elif agg["type"] != "count":
            assert inner[agg["id"]]["value"] is not None


def keys(answer: Any, identity: str) -> dict[str, int]:
    """Buckets and how many documents are in each."""
    buckets = answer["aggregations"][identity]["buckets"]
    if isinstance(buckets, dict):
        return {name: each["doc_count"] for name, each in buckets.items()}
    return {str(each["key"]): each["doc_count"] for each in buckets}


def test_the_corpus_is_counted_right(filled: Filled) -> None:
    """By hand, from the three papers."""
    assert filled.show("corpus-papers")["hits"]["total"]["value"] == 3
    assert keys(filled.show("corpus-abstracts"), "2") == {"with abstract": 2, "without": 1}
    assert keys(filled.show("corpus-years"), "2") == {"2020.0": 2, "2021.0": 0, "2022.0": 1}
    assert keys(filled.show("corpus-access"), "2") == {"open": 2, "restricted": 1}
    assert keys(filled.show("corpus-language"), "2") == {"en": 1, "de": 1, "__missing__": 1}
    assert keys(filled.show("corpus-collections"), "2") == {"ice": 2, "sea": 1, "__missing__": 1}
    assert keys(filled.show("corpus-keyphrases"), "2") == {"sea ice": 1}
    assert keys(filled.show("corpus-missing-abstracts"), "2") == {"ice": 1}


def test_ingests_are_counted_right(filled: Filled) -> None:
    """One run: four records read, three written, one refused."""
    totals = filled.show("ingest-totals")["aggregations"]
    assert [totals[str(number)]["value"] for number in range(1, 6)] == [4, 3, 0, 0, 1]
    assert keys(filled.show("ingest-outcomes"), "2") == {"success": 1}
    assert keys(filled.show("ingest-models"), "3") == {MODEL: 1}
    assert keys(filled.show("ingest-papers-by-model"), "3") == {MODEL: 3}


def test_searches_are_counted_right(filled: Filled) -> None:
    """Three searches, one of them without a hit and slow."""
    assert filled.show("search-searches")["hits"]["total"]["value"] == 3
    assert filled.show("search-latency")["aggregations"]["1"]["values"]["50.0"] == pytest.approx(40)
    assert keys(filled.show("search-top"), "4") == {"ice": 2, "fire": 1}
    assert keys(filled.show("search-zero-hits"), "3") == {"fire": 1}
    assert keys(filled.show("search-weak"), "3") == {"ice": 2}
    assert list(keys(filled.show("search-slow"), "3")) == ["fire", "ice"]


def test_a_panel_on_a_field_that_cannot_be_aggregated_would_be_noticed(
    filled: Filled, unique_name: Callable[[], str]
) -> None:
    """The two ways to get it wrong, tried: a text, and a name that is not there."""
    fields = filled.client.call("GET", f"/{filled.panels['corpus-papers'].index}/_field_caps?fields=abstract,abstracts")
    (caps,) = fields["fields"]["abstract"].values()
    assert not caps["aggregatable"]
    assert "abstracts" not in fields["fields"]
