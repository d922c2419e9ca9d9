"""Figures of each version of a store, for people: papers, bytes, health."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from sciret.connector.changes import count
from sciret.connector.client import Client
from sciret.connector.versions import Version, Versions


@dataclass(frozen=True, slots=True)
class Figures:
    version: Version
    papers: int | None
    """None where they cannot be counted, since part of the index is missing."""
    bytes: int
    """On all nodes, copies included."""
    health: str


def read_figures(client: Client, versions: Versions) -> list[Figures]:
    """Oldest first."""
    return [_figures(client, version) for version in versions]


def _figures(client: Client, version: Version) -> Figures:
    name = quote(version.index)
    health = str(client.call("GET", f"/_cluster/health/{name}", params={"filter_path": "status"})["status"])
    size = client.call("GET", f"/{name}/_stats/store", params={"filter_path": "_all.total"})
    papers = None if health == "red" else count(client, version.index)
    return Figures(version, papers, int(size["_all"]["total"]["store"]["size_in_bytes"]), health)
