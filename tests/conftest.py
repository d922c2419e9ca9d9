"""Real OpenSearch servers: each is started at the first test that asks for it, and once per run.

A server that cannot start fails the tests that ask for it; nothing is skipped.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from sciret.connector.local_node import Login, fetch
from sciret.connector.local_server import LocalServer, throwaway_server

_answering: dict[str, Login | None] = {}
"""Address of every server of this run, for cleaning up."""


@dataclass(frozen=True)
class ExistingServer:
    """One that runs already: SCIRET_TEST_OPENSEARCH_URL."""

    url: str


@pytest.fixture(scope="session")
def opensearch() -> Iterator[LocalServer | ExistingServer]:
    """OpenSearch 3.6.0 with k-NN and neural-search, one node: `.url`."""
    existing = os.environ.get("SCIRET_TEST_OPENSEARCH_URL")
    if existing:
        _answering[existing] = None
        yield ExistingServer(existing.rstrip("/"))
        return
    with throwaway_server("3.6.0", heap="384m") as server:
        _answering[server.url] = None
        yield server
        del _answering[server.url]


@pytest.fixture
def unique_name() -> Iterator[Callable[[], str]]:
    """Names for indices and aliases; what begins with them is removed from every server after the test."""
    made: list[str] = []

    def make(prefix: str = "test") -> str:
        made.append(f"{prefix}-{uuid.uuid4().hex[:8]}")
        return made[-1]

    yield make
    for url, login in _answering.items():
        for name in made:
            fetch(url, f"/{name}*", login, "DELETE")
            fetch(url, f"/_index_template/sciret-{name}*", login, "DELETE")
