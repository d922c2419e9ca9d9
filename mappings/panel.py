"""The words that dashboards are described in: what a panel asks, how it is drawn, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Chart = Literal["bars", "sideways", "lines", "pie", "table", "number"]
"""Upright bars, bars from left to right (long labels), lines, a ring, rows, or one figure a metric."""

COLUMNS = 48
"""Width of a dashboard in the grid of OpenSearch Dashboards."""


@dataclass(frozen=True, slots=True)
class Source:
    """An index that panels read. Without a time field the time picker leaves its panels alone."""

    index: str
    time_field: str | None = None
    where: str = ""
    """A Lucene query that every panel on this source is limited to."""


@dataclass(frozen=True, slots=True)
class Metric:
    kind: Literal["count", "sum", "avg", "min", "max", "cardinality", "percentiles"]
    label: str
    field: str | None = None
    percents: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Terms:
    """The most frequent values of a field, or those with the largest (`ascending`: smallest) first metric."""

    field: str
    label: str
    size: int = 20
    ascending: bool = False
    without: str | None = None
    """What documents without the field are called; None leaves them out."""


@dataclass(frozen=True, slots=True)
class Steps:
    """A number in steps of equal width."""

    field: str
    label: str
    width: int = 1


@dataclass(frozen=True, slots=True)
class Times:
    """A date; `every` is a unit such as d or w, or auto where the time picker says how far back to look."""

    field: str
    label: str
    every: str = "auto"


@dataclass(frozen=True, slots=True)
class Filters:
    """Label and Lucene query of each part."""

    parts: tuple[tuple[str, str], ...]


Bucket = Terms | Steps | Times | Filters


@dataclass(frozen=True, slots=True)
class Panel:
    name: str
    """Part of the id: renaming it makes a new panel instead of replacing the old one."""
    title: str
    help: str
    chart: Chart
    source: Source
    metrics: tuple[Metric, ...]
    buckets: tuple[Bucket, ...] = ()
    """The first is the axis, the slices or the rows; the second splits it."""
    where: str = ""
    width: int = COLUMNS // 2
    height: int = 12


@dataclass(frozen=True, slots=True)
class Dashboard:
    name: str
    title: str
    help: str
    panels: tuple[Panel, ...]
    since: str | None = None
    """Where the time picker starts, such as now-30d; None leaves it as it is."""
