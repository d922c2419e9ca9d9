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
    color = health(client, version.index)
    size = client.call("GET", f"/{quote(version.index)}/_stats/store", params={"filter_path": "_all.total"})
    papers = None if color == "red" else count(client, version.index)
    return Figures(version, papers, int(size["_all"]["total"]["store"]["size_in_bytes"]), color)


def health(client: Client, index: str) -> str:
    """`green`, `yellow` where copies are missing, `red` where part of the index is."""
    path = f"/_cluster/health/{quote(index)}"
    return str(client.call("GET", path, params={"filter_path": "status"})["status"])
