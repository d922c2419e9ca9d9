"""The indices that events go to, and their templates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

INGEST_EVENTS = "sciret-ingest-events"
"""One document for each stretch of an ingest, in the words of the Elastic Common Schema where it has them."""
UBI_QUERIES = "ubi_queries"
"""One document a search, in the schema of User Behavior Insights 1.x, so that its tools read them as they are.

`query_attributes` is a flat_object there, which has no numbers to aggregate, and an index that has it as anything else
cannot be made by OpenSearch's own UBI plugin. So what Dashboards counts stands a second time, typed, under `sciret`.
"""
APPLICATION = "sciret"
"""What our searches are marked with, in an index that other applications may write to as well."""
OWN = "sciret"
"""The object whose fields are ours; in an index that others made it is added to their mapping."""

_FILES = {INGEST_EVENTS: "ingest_events.json", UBI_QUERIES: "ubi_queries.json"}


def event_template(index: str) -> Mapping[str, Any]:
    """The body of an index template for one of these indices, to be put on a cluster where that is wanted."""
    body: Mapping[str, Any] = json.loads(files("sciret.mappings").joinpath(_FILES[index]).read_text(encoding="utf-8"))
    return body


def own_mapping(index: str) -> Mapping[str, Any]:
    """Only what is ours, to be added to an index that is there already."""
    return {"properties": {OWN: event_template(index)["template"]["mappings"]["properties"][OWN]}}
