"""Real OpenSearch servers: each is started at the first test that asks for it, and once per run.

A server that cannot start fails the tests that ask for it; nothing is skipped.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from sciret.connector.local_node import fetch
from sciret.connector.local_server import LocalServer, throwaway_server

_started: list[LocalServer | ExistingServer] = []
"""Every server of this run, for cleaning up."""


@dataclass(frozen=True)
class ExistingServer:
    """One that runs already: SCIRET_TEST_OPENSEARCH_URL."""

    url: str


def _serve(version: str, **options: Any) -> Iterator[LocalServer]:
    with throwaway_server(version, **options) as server:
        _started.append(server)
        yield server
        _started.remove(server)


@pytest.fixture(scope="session")
def opensearch() -> Iterator[LocalServer | ExistingServer]:
    """OpenSearch 3.6.0 with k-NN and neural-search, one node: `.url`."""
    existing = os.environ.get("SCIRET_TEST_OPENSEARCH_URL", "").rstrip("/")
    if existing:
        _started.append(ExistingServer(existing))
        yield ExistingServer(existing)
    else:
        yield from _serve("3.6.0", heap="384m")


@pytest.fixture(scope="session")
def opensearch_2() -> Iterator[LocalServer]:
    """OpenSearch 2.19.1 with k-NN, one node: `.url`."""
    yield from _serve("2.19.1", heap="384m")


@pytest.fixture(scope="session")
def secured_opensearch() -> Iterator[LocalServer]:
    """OpenSearch 2.19.1 with k-NN and security: `.url` is https, `.ca` what to trust, `.passwords` by user:
    `admin` may do everything, `reader` may read, `nobody` has no role."""
    yield from _serve("2.19.1", security=True, heap="384m")


@pytest.fixture(scope="session")
def _cluster() -> Iterator[LocalServer]:
    yield from _serve("3.6.0", nodes=3, heap="320m")


@pytest.fixture
def opensearch_cluster(_cluster: LocalServer) -> Iterator[LocalServer]:
    """Three nodes of OpenSearch 3.6.0: `.urls`, `.manager()`, `.kill(name)`. Killed ones come back after the test."""
    yield _cluster
    _cluster.revive()


@pytest.fixture
def unique_name() -> Iterator[Callable[[], str]]:
    """Names for indices and aliases; what begins with them is removed from every server after the test."""
    made: list[str] = []

    def make(prefix: str = "test") -> str:
        made.append(f"{prefix}-{uuid.uuid4().hex[:8]}")
        return made[-1]

    yield make
    for server in _started:
        login = None
        if isinstance(server, LocalServer):
            server.revive()  # the test may have killed the node that is asked
            login = server.nodes[0].login
        for name in made:
            fetch(server.url, f"/{name}*", login, "DELETE")
            fetch(server.url, f"/_index_template/sciret-{name}*", login, "DELETE")
