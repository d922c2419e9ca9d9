"""Events: what was ingested and what was asked, each a small document in an index of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from sciret import __version__
from sciret.mappings.events import APPLICATION

Value = str | int | float | bool | None
Event = Mapping[str, object]
ECS_VERSION = "8.11.0"
COUNTS = ("read", "written", "unchanged", "deleted", "refused", "truncated")


@dataclass(frozen=True, slots=True)
class Search:
    """One answered question. It says nothing about who asked, or from where."""

    store: str
    """Alias on the cluster."""
    text: str | None
    like: str | None
    """Id of the paper that was the question."""
    sentences: tuple[int, ...]
    aspect: str | None
    model: str
    hit_ids: tuple[str, ...]
    skipped: int
    """Hits before these, of a page that is not the first."""
    top_score: float | None
    """Of the best hit; unknown on a later page."""
    encode_seconds: float
    """Of the question, with the loading of the model where that was needed."""
    search_seconds: float
    settings: Mapping[str, Value]

    @property
    def kind(self) -> str:
        if self.like is None:
            return "text"
        return "aspect" if self.sentences or self.aspect else "paper"


def search_event(search: Search, now: datetime) -> Event:
    """In the schema of User Behavior Insights: `query_attributes` holds scalars only, as its readers expect."""
    figures: dict[str, Value] = {
        "store": search.store,
        "kind": search.kind,
        "model": search.model,
        "hits": search.skipped + len(search.hit_ids),  # a page past the end is no search without hits
        "latency_ms": round(search.search_seconds * 1e3, 3),
        "encode_ms": round(search.encode_seconds * 1e3, 3),
        "top_score": search.top_score,
    }
    chosen: dict[str, Value] = {
        "like": search.like,
        "sentences": ",".join(map(str, search.sentences)) or None,
        "aspect": search.aspect,
        **search.settings,
    }
    return {
        "timestamp": timestamp(now),
        "application": APPLICATION,
        "client_id": f"{APPLICATION}-cli",
        "query_id": str(uuid4()),
        "query_response_id": str(uuid4()),
        "query_response_hit_ids": list(search.hit_ids),
        "object_id_field": "id",
        "user_query": _writable(search.text or "" if search.like is None else f"like:{search.like}"),
        "query_attributes": _given({**figures, **chosen}),
        "sciret": _given(figures),
    }


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of an ingest: what was done since the event before. Sums over events are sums over papers."""

    run: str
    store: str
    model: str
    counts: Mapping[str, int]
    seconds: float


def ingest_event(stretch: Stretch, now: datetime, outcome: str | None = None, error: Exception | None = None) -> Event:
    """With an outcome it is the last of its run."""
    event = {
        "kind": "event",
        "category": ["database"],
        "action": "ingest-progress" if outcome is None else "ingest-end",
        "outcome": outcome,
        "start": timestamp(now - timedelta(seconds=stretch.seconds)),
        "end": timestamp(now),
        "duration": round(stretch.seconds * 1e9),
    }
    document: dict[str, object] = {
        "@timestamp": timestamp(now),
        "ecs": {"version": ECS_VERSION},
        "event": _given(event),
        "service": {"name": APPLICATION, "version": __version__},
        "sciret": {
            "run": stretch.run,
            "store": stretch.store,
            "model": stretch.model,
            **{name: stretch.counts[name] for name in COUNTS},
            "papers_per_second": round(stretch.counts["read"] / max(stretch.seconds, 1e-3), 3),
        },
    }
    if error is not None:
        document["error"] = {"type": type(error).__name__, "message": str(error)}
    return document


def timestamp(moment: datetime) -> str:
    """With milliseconds and Z: what UBI's `strict_date_time` takes as well."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _writable(text: str) -> str:
    """A command line can bring bytes that are no text; JSON has no place for them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _given(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}
