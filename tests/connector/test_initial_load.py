"""A first load lowers refresh and replicas, and they come back whatever happens to it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pytest
from opensearchpy import OpenSearch

from sciret.connector.initial_load import initial_load, restore

LOWERED = {"refresh_interval": "-1", "number_of_replicas": "0"}
USUAL = {"refresh_interval": "5s", "number_of_replicas": "1"}
META = {"sciret": {"model": "m", "schema": 1}, "other": [1]}


class Server(Protocol):
    @property
    def url(self) -> str: ...


@pytest.fixture
def client(opensearch: Server) -> Iterator[OpenSearch]:
    with OpenSearch(opensearch.url) as connected:
        yield connected


@pytest.fixture
def make(client: OpenSearch, unique_name: Callable[[], str]) -> Callable[..., str]:
    def index(**settings: Any) -> str:
        name = unique_name()
        body = {"settings": {"number_of_shards": 1, **settings}, "mappings": {"_meta": META}}
        client.indices.create(index=name, body=body, params={"wait_for_active_shards": 1})
        return name

    return index


def _settings(client: OpenSearch, index: str) -> dict[str, str]:
    ((_, found),) = client.indices.get_settings(index=index).items()
    names = ("refresh_interval", "number_of_replicas", "auto_expand_replicas")
    return {name: found["settings"]["index"][name] for name in names if name in found["settings"]["index"]}


def _meta(client: OpenSearch, index: str) -> Any:
    ((_, found),) = client.indices.get_mapping(index=index).items()
    return found["mappings"]["_meta"]


def test_they_are_lowered_inside_and_restored_after(client: OpenSearch, make: Callable[..., str]) -> None:
    """What else the index knows about itself stays, and what was written can be found."""
    index = make(**USUAL)
    with initial_load(client, index):
        assert _settings(client, index) == LOWERED
        assert _meta(client, index)["sciret"]["model"] == "m"
        client.index(index=index, id="a", body={"title": "a"})
        assert client.count(index=index)["count"] == 0
    assert _settings(client, index) == USUAL
    assert _meta(client, index) == META
    assert client.count(index=index)["count"] == 1


def test_a_default_is_restored_as_a_default(client: OpenSearch, make: Callable[..., str]) -> None:
    """Not as the value that the default happens to have."""
    index = make(number_of_replicas=2)
    with initial_load(client, index):
        assert _settings(client, index) == LOWERED
    assert _settings(client, index) == {"number_of_replicas": "2"}


def test_replicas_that_follow_the_nodes_do_so_again(client: OpenSearch, make: Callable[..., str]) -> None:
    """They would come back by themselves during the load."""
    index = make(auto_expand_replicas="0-all")
    with initial_load(client, index):
        assert _settings(client, index) == {**LOWERED, "auto_expand_replicas": "false"}
    assert _settings(client, index)["auto_expand_replicas"] == "0-all"


def test_an_alias_stands_for_its_index(client: OpenSearch, make: Callable[..., str]) -> None:
    """Stores are named by aliases."""
    index = make(**USUAL)
    client.indices.put_alias(index=index, name=f"{index}-alias")
    with initial_load(client, f"{index}-alias"):
        assert _settings(client, index) == LOWERED
    assert _settings(client, index) == USUAL


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_they_are_restored_after_an_error(
    client: OpenSearch, make: Callable[..., str], error: type[BaseException]
) -> None:
    """And the error goes on."""
    index = make(**USUAL)
    with pytest.raises(error), initial_load(client, index):
        raise error
    assert _settings(client, index) == USUAL
    assert _meta(client, index) == META


KILLED = """
import os, signal, sys
from opensearchpy import OpenSearch
from sciret.connector.initial_load import initial_load
with initial_load(OpenSearch(sys.argv[1]), sys.argv[2]):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def left_lowered(client: OpenSearch, opensearch: Server, make: Callable[..., str]) -> str:
    """An index whose load was killed."""
    index = make(**USUAL)
    ended = subprocess.run([sys.executable, "-c", KILLED, opensearch.url, index], check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    assert _settings(client, index) == LOWERED
    return index


def test_the_next_run_restores_what_a_killed_one_left(client: OpenSearch, left_lowered: str) -> None:
    """Once; then there is nothing left to restore."""
    assert restore(client, left_lowered)
    assert _settings(client, left_lowered) == USUAL
    assert _meta(client, left_lowered) == META
    assert not restore(client, left_lowered)


def test_the_next_load_does_not_take_lowered_values_for_the_usual_ones(client: OpenSearch, left_lowered: str) -> None:
    """It restores what was there before the first of them."""
    with initial_load(client, left_lowered):
        assert _settings(client, left_lowered) == LOWERED
    assert _settings(client, left_lowered) == USUAL


def test_of_two_loads_at_once_the_first_to_end_restores(client: OpenSearch, make: Callable[..., str]) -> None:
    """Many machines may load into one index; the others go on, and the usual values are those from before them all."""
    index = make(**USUAL)
    with initial_load(client, index):
        with initial_load(client, index):
            assert _settings(client, index) == LOWERED
        assert _settings(client, index) == USUAL
    assert _settings(client, index) == USUAL
    assert _meta(client, index) == META
