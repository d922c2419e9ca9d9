"""Panels as saved objects of OpenSearch Dashboards 2.x and 3.x, in the lines of an NDJSON that its import takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sciret.mappings.chart import chart_params
from sciret.mappings.corpus_panels import corpus
from sciret.mappings.ingest_panels import ingest
from sciret.mappings.panel import COLUMNS, Bucket, Dashboard, Filters, Metric, Panel, Source, Steps, Terms, Times
from sciret.mappings.search_panels import search

JsonObject = dict[str, Any]
FORMAT = {"index-pattern": "7.6.0", "visualization": "7.10.0", "dashboard": "7.9.3"}
"""What Dashboards calls the shape of an object. It keeps these numbers from before its first own version, in 2.x and
3.x alike; without them an import runs every migration since 2015 over the object."""
INDEX_REFERENCE = "kibanaSavedObjectMeta.searchSourceJSON.index"
"""The name by which a visualization refers to its index pattern; Dashboards kept it from its origin."""


def ndjson(alias: str) -> str:
    """The same text for the same alias, always: objects in the order of their use, keys sorted."""
    return "".join(_json(thing) + "\n" for thing in saved_objects(alias))


def dashboards(alias: str) -> tuple[Dashboard, ...]:
    """Of one store: its papers, what was written into it, and what was asked of it."""
    return corpus(alias), ingest(alias), search(alias)


def saved_objects(alias: str) -> Iterator[JsonObject]:
    """What others refer to comes first. Ids carry the alias, so that two stores on a cluster have their own."""
    boards = dashboards(alias)
    for source in dict.fromkeys(panel.source for board in boards for panel in board.panels):
        yield index_pattern(source)
    for board in boards:
        for panel in board.panels:
            yield visualization(alias, board, panel)
    for board in boards:
        yield dashboard(alias, board)


def index_pattern(source: Source) -> JsonObject:
    """Without a list of fields: Dashboards reads the index's own when the pattern is first used."""
    attributes = {"title": source.index}
    if source.time_field is not None:
        attributes["timeFieldName"] = source.time_field
    return _saved("index-pattern", _pattern_id(source), attributes, [])


def visualization(alias: str, board: Dashboard, panel: Panel) -> JsonObject:
    title = f"sciret {alias}: {panel.title} ({board.title})"
    state = {
        "title": title,
        "type": CHART_TYPES[panel.chart],
        "params": chart_params(panel),
        "aggs": [*_metrics(panel.metrics), *_buckets(panel)],
    }
    source = {"query": _lucene(_both(panel.source.where, panel.where)), "filter": [], "indexRefName": INDEX_REFERENCE}
    attributes = {
        "title": title,
        "description": panel.help,
        "visState": _json(state),
        "uiStateJSON": "{}",
        "version": 1,
        "kibanaSavedObjectMeta": {"searchSourceJSON": _json(source)},
    }
    reference = {"name": INDEX_REFERENCE, "type": "index-pattern", "id": _pattern_id(panel.source)}
    return _saved("visualization", _panel_id(alias, board, panel), attributes, [reference])


def dashboard(alias: str, board: Dashboard) -> JsonObject:
    placed = [
        {
            "version": "2.19.0",
            "gridData": {**place, "i": str(number)},
            "panelIndex": str(number),
            "embeddableConfig": {"title": panel.title},
            "panelRefName": f"panel_{number}",
        }
        for number, (panel, place) in enumerate(zip(board.panels, grid(board.panels), strict=True))
    ]
    time = {"timeFrom": board.since, "timeTo": "now"} if board.since else {}
    attributes = {
        "title": f"sciret {alias}: {board.title}",
        "description": board.help,
        "hits": 0,
        "panelsJSON": _json(placed),
        "optionsJSON": _json({"hidePanelTitles": False, "useMargins": True}),
        "version": 1,
        "timeRestore": bool(time),
        **time,
        "kibanaSavedObjectMeta": {"searchSourceJSON": _json({"query": _lucene(""), "filter": []})},
    }
    references = [
        {"name": f"panel_{number}", "type": "visualization", "id": _panel_id(alias, board, panel)}
        for number, panel in enumerate(board.panels)
    ]
    return _saved("dashboard", f"sciret-{alias}-{board.name}", attributes, references)


def grid(panels: Sequence[Panel]) -> Iterator[Mapping[str, int]]:
    """Places from left to right, in rows as high as their highest panel."""
    x = y = row = 0
    for panel in panels:
        if x + panel.width > COLUMNS:
            x, y, row = 0, y + row, 0
        yield {"x": x, "y": y, "w": panel.width, "h": panel.height}
        x, row = x + panel.width, max(row, panel.height)


CHART_TYPES = {
    "bars": "histogram",
    "sideways": "horizontal_bar",
    "lines": "line",
    "pie": "pie",
    "table": "table",
    "number": "metric",
}


def _metrics(metrics: Sequence[Metric]) -> Iterator[JsonObject]:
    for number, metric in enumerate(metrics, start=1):
        params: JsonObject = {"customLabel": metric.label}
        if metric.field is not None:
            params["field"] = metric.field
        if metric.percents:
            params["percents"] = list(metric.percents)
        yield {"id": str(number), "enabled": True, "type": metric.kind, "schema": "metric", "params": params}


def _buckets(panel: Panel) -> Iterator[JsonObject]:
    first = "bucket" if panel.chart == "table" else "segment"
    second = "bucket" if panel.chart == "table" else "group"
    for number, bucket in enumerate(panel.buckets):
        kind, params = _bucket(bucket)
        yield {
            "id": str(len(panel.metrics) + number + 1),
            "enabled": True,
            "type": kind,
            "schema": second if number else first,
            "params": params,
        }


def _bucket(bucket: Bucket) -> tuple[str, JsonObject]:
    match bucket:
        case Terms():
            return "terms", {
                "field": bucket.field,
                "customLabel": bucket.label,
                "size": bucket.size,
                "orderBy": "1",
                "order": "asc" if bucket.ascending else "desc",
                "otherBucket": False,
                "missingBucket": bucket.without is not None,
                "missingBucketLabel": bucket.without or "Missing",
            }
        case Steps():
            return "histogram", {
                "field": bucket.field,
                "customLabel": bucket.label,
                "interval": bucket.width,
                "min_doc_count": False,
                "extended_bounds": {},
            }
        case Times():
            return "date_histogram", {
                "field": bucket.field,
                "customLabel": bucket.label,
                "interval": bucket.every,
                "useNormalizedOpenSearchInterval": True,
                "scaleMetricValues": False,
                "drop_partials": False,
                "min_doc_count": 1,
                "extended_bounds": {},
            }
        case Filters():
            return "filters", {"filters": [{"input": _lucene(query), "label": label} for label, query in bucket.parts]}


def _saved(kind: str, identity: str, attributes: JsonObject, references: list[JsonObject]) -> JsonObject:
    return {
        "id": identity,
        "type": kind,
        "attributes": attributes,
        "references": references,
        "migrationVersion": {kind: FORMAT[kind]},
    }


def _pattern_id(source: Source) -> str:
    return f"sciret-index-{source.index}"


def _panel_id(alias: str, board: Dashboard, panel: Panel) -> str:
    return f"sciret-{alias}-{board.name}-{panel.name}"


def _lucene(query: str) -> JsonObject:
    """Not the default language of Dashboards, but the one that the server itself runs as `query_string`."""
    return {"query": query, "language": "lucene"}


def _both(*queries: str) -> str:
    given = [query for query in queries if query]
    return " AND ".join(f"({query})" for query in given) if len(given) > 1 else "".join(given)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
