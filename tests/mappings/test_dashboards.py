"""The saved objects hang together, fit on the screen, and are the ones that are checked in."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from sciret.mappings.dashboards import dashboards, grid, ndjson, saved_objects
from sciret.mappings.panel import COLUMNS, Dashboard

ROOT = Path(__file__).parents[2]
BOARDS = dashboards("papers")


def test_the_file_is_what_the_description_says() -> None:
    """`sciret dashboards export mappings/dashboards.ndjson` writes it anew."""
    assert (ROOT / "mappings" / "dashboards.ndjson").read_text(encoding="utf-8") == ndjson("papers")


def test_every_line_is_a_whole_object_and_what_it_refers_to_comes_before_it() -> None:
    """The order in which an export of Dashboards has them."""
    seen: set[tuple[str, str]] = set()
    for line in ndjson("papers").splitlines():
        thing = json.loads(line)
        assert {(each["type"], each["id"]) for each in thing["references"]} <= seen
        assert (thing["type"], thing["id"]) not in seen
        seen.add((thing["type"], thing["id"]))
    assert {kind for kind, _ in seen} == {"index-pattern", "visualization", "dashboard"}


def test_what_a_dashboard_shows_is_what_it_refers_to() -> None:
    """A panel is found by the name of its reference."""
    for thing in saved_objects("papers"):
        if thing["type"] == "dashboard":
            panels = json.loads(thing["attributes"]["panelsJSON"])
            assert [panel["panelRefName"] for panel in panels] == [each["name"] for each in thing["references"]]


def test_a_visualization_names_its_index_pattern() -> None:
    """By the reference, and only by it: an id inside the text would not be renamed by an import."""
    for thing in saved_objects("papers"):
        if thing["type"] == "visualization":
            source = json.loads(thing["attributes"]["kibanaSavedObjectMeta"]["searchSourceJSON"])
            (reference,) = thing["references"]
            assert source["indexRefName"] == reference["name"]
            assert "index" not in source


def test_aggregations_are_numbered_and_ordered_by_a_metric_that_is_there() -> None:
    """`orderBy` of terms is the id of a metric."""
    for state in states():
        assert [agg["id"] for agg in state["aggs"]] == [str(n) for n in range(1, len(state["aggs"]) + 1)]
        metrics = {agg["id"] for agg in state["aggs"] if agg["schema"] == "metric"}
        assert all(agg["params"]["orderBy"] in metrics for agg in state["aggs"] if agg["type"] == "terms")
        series = state["params"].get("seriesParams", ())
        assert not series or {each["data"]["id"] for each in series} == metrics


def states() -> list[dict[str, Any]]:
    things = saved_objects("papers")
    return [json.loads(thing["attributes"]["visState"]) for thing in things if thing["type"] == "visualization"]


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_panels_neither_overlap_nor_leave_the_grid(board: Dashboard) -> None:
    """Every cell of the screen has at most one panel."""
    cells = [
        {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        for at in grid(board.panels)
    ]
    assert all(not (a & b) for a, b in combinations(cells, 2))
    assert max(x for cell in cells for x, _ in cell) < COLUMNS


def test_two_stores_on_a_cluster_have_dashboards_of_their_own() -> None:
    """Only the patterns of the event indices are shared."""
    first, second = ({(t["type"], t["id"]) for t in saved_objects(alias)} for alias in ("papers", "theses"))
    assert {kind for kind, _ in first & second} == {"index-pattern"}
    assert len(first) == len(second)


def test_the_time_picker_does_not_hide_the_corpus() -> None:
    """Its pattern has no time field: papers of all times are shown, whatever was picked on another dashboard."""
    patterns = {t["attributes"]["title"]: t["attributes"] for t in saved_objects("papers") if t["type"] != "dashboard"}
    assert "timeFieldName" not in patterns["papers"]
    assert patterns["sciret-ingest-events"]["timeFieldName"] == "@timestamp"
    assert patterns["ubi_queries"]["timeFieldName"] == "timestamp"


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_every_panel_is_explained_in_the_docs(board: Dashboard) -> None:
    """With the words that the panel itself shows."""
    text = (ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")
    for panel in board.panels:
        assert f"| {panel.title} | {panel.help} |" in text
