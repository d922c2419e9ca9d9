"""How each kind of chart is drawn: the `params` of a visualization, as OpenSearch Dashboards itself saves them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sciret.mappings.panel import Chart, Panel

Params = dict[str, Any]
LABELS = {"show": True, "filter": False, "truncate": 100}


def chart_params(panel: Panel) -> Params:
    return CHARTS[panel.chart](panel)


def _bars(panel: Panel) -> Params:
    return _axes(panel, "histogram", "bottom", "left")


def _sideways(panel: Panel) -> Params:
    return _axes(panel, "histogram", "left", "bottom")


def _lines(panel: Panel) -> Params:
    return _axes(panel, "line", "bottom", "left")


def _axes(panel: Panel, kind: str, across: str, up: str) -> Params:
    """Bars are stacked, lines are not; every metric is a series on the one value axis."""
    label = panel.metrics[0].label
    return {
        "type": kind,
        "grid": {"categoryLines": False},
        "categoryAxes": [
            {
                "id": "CategoryAxis-1",
                "type": "category",
                "position": across,
                "show": True,
                "style": {},
                "scale": {"type": "linear"},
                "labels": LABELS,
                "title": {},
            }
        ],
        "valueAxes": [
            {
                "id": "ValueAxis-1",
                "name": "BottomAxis-1" if up == "bottom" else "LeftAxis-1",
                "type": "value",
                "position": up,
                "show": True,
                "style": {},
                "scale": {"type": "linear", "mode": "normal"},
                "labels": {**LABELS, "rotate": 0},
                "title": {"text": label},
            }
        ],
        "seriesParams": [
            {
                "show": True,
                "type": kind,
                "mode": "normal" if kind == "line" else "stacked",
                "data": {"id": str(number), "label": metric.label},
                "valueAxis": "ValueAxis-1",
                "drawLinesBetweenPoints": True,
                "lineWidth": 2,
                "interpolate": "linear",
                "showCircles": True,
            }
            for number, metric in enumerate(panel.metrics, start=1)
        ],
        "addTooltip": True,
        "addLegend": len(panel.buckets) > 1 or len(panel.metrics) > 1 or bool(panel.metrics[0].percents),
        "legendPosition": "right",
        "times": [],
        "addTimeMarker": False,
        "labels": {"show": False},
        "thresholdLine": {"show": False, "value": 10, "width": 1, "style": "full", "color": "#E7664C"},
    }


def _pie(_panel: Panel) -> Params:
    return {
        "type": "pie",
        "addTooltip": True,
        "addLegend": True,
        "legendPosition": "right",
        "isDonut": True,
        "labels": {"show": False, "values": True, "last_level": True, "truncate": 100},
    }


def _table(_panel: Panel) -> Params:
    return {
        "perPage": 10,
        "showPartialRows": False,
        "showMetricsAtAllLevels": False,
        "showTotal": False,
        "totalFunc": "sum",
        "percentageCol": "",
    }


def _number(_panel: Panel) -> Params:
    return {
        "type": "metric",
        "addTooltip": True,
        "addLegend": False,
        "metric": {
            "percentageMode": False,
            "useRanges": False,
            "colorSchema": "Green to Red",
            "metricColorMode": "None",
            "colorsRange": [{"from": 0, "to": 10000}],
            "labels": {"show": True},
            "invertColors": False,
            "style": {"bgFill": "#000", "bgColor": False, "labelColor": False, "subText": "", "fontSize": 36},
        },
    }


CHARTS: Mapping[Chart, Callable[[Panel], Params]] = {
    "bars": _bars,
    "sideways": _sideways,
    "lines": _lines,
    "pie": _pie,
    "table": _table,
    "number": _number,
}
