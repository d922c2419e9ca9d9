"""Versions of a store by their aliases, on a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sciret.connector.address import Address
from sciret.connector.client import Client, connect
from sciret.connector.indices import IndexOptions, create_index, index_meta, index_name
from sciret.connector.promotion import roll_back, writes_since
from sciret.connector.versions import allow_writes, read_versions, refuse_writes, remove, swap
from sciret.errors import StoreError

LAYOUT = IndexOptions(replicas=0)


@pytest.fixture(params=["opensearch", "opensearch_2"])
def client(request: pytest.FixtureRequest, unique_name: Callable[[], str]) -> Iterator[Client]:
    made = connect(Address.parse(f"{request.getfixturevalue(request.param).url}/{unique_name()}"))
    yield made
    made.close()


def create(client: Client, number: int, alias: str | None = None) -> str:
    name = index_name(client.address.alias, number)
    create_index(client, name, LAYOUT, index_meta(LAYOUT, model=None, dims=None), alias=alias)
    return name


def roles(client: Client) -> dict[str, str]:
    return {version.index: version.role for version in read_versions(client)}


def test_aliases_say_what_a_version_is(client: Client) -> None:
    """Indices of a store with a longer name are not versions of this one."""
    alias = client.address.alias
    assert list(read_versions(client)) == []
    one, two, three = create(client, 1), create(client, 2, alias), create(client, 3, f"{alias}-next")
    client.call("PUT", f"/{alias}-old-000001")
    assert roles(client) == {one: "retired", two: "live", three: "next"}
    found = read_versions(client)
    assert found.next_name == index_name(alias, 4)
    assert found.named("2") == found.named("live") == found.named(two)
    with pytest.raises(StoreError, match="no version '9'"):
        found.named("9")


def test_a_swap_moves_every_alias_at_once(client: Client) -> None:
    alias = client.address.alias
    one, two, three = (
        create(client, 1, f"{alias}-previous"),
        create(client, 2, alias),
        create(client, 3, f"{alias}-next"),
    )
    found = read_versions(client)
    swap(client, found, found.named("next"))
    assert roles(client) == {one: "retired", two: "previous", three: "live"}
    with pytest.raises(StoreError, match="missing"):  # by versions that are not so any more
        swap(client, found, found.named("1"))
    assert roles(client) == {one: "retired", two: "previous", three: "live"}


def test_a_rollback_and_back_again(client: Client) -> None:
    """What was live takes no writes, what is live does, and what was written since is counted."""
    alias = client.address.alias
    one, two = create(client, 1, alias), create(client, 2)
    done = roll_back(client, "2")
    assert (done.promoted.index, done.retired.index, done.since) == (two, one, None)
    for paper_id in ("a", "b"):
        client.call("PUT", f"/{two}/_doc/{paper_id}", {"id": paper_id})
    client.call("DELETE", f"/{two}/_doc/a")
    with pytest.raises(StoreError, match="blocked"):
        client.call("PUT", f"/{one}/_doc/a", {"id": "a"})
    assert writes_since(client, read_versions(client).named(two)) == 3
    done = roll_back(client)
    assert (done.promoted.index, done.since) == (one, 3)
    assert roles(client) == {one: "live", two: "previous"}
    client.call("PUT", f"/{alias}/_doc/a", {"id": "a"})


def test_there_must_be_something_to_go_back_to(client: Client) -> None:
    alias = client.address.alias
    with pytest.raises(StoreError, match="no version to go back to"):
        roll_back(client)
    create(client, 1, alias)
    create(client, 2, f"{alias}-next")
    with pytest.raises(StoreError, match="no version to go back to"):
        roll_back(client)
    with pytest.raises(StoreError, match="it is next"):
        roll_back(client, "next")
    client.call("PUT", f"/{alias}/_doc/a", {"id": "a"})  # writes are taken as before


def test_writes_can_be_refused_and_allowed(client: Client) -> None:
    name = create(client, 1, client.address.alias)
    refuse_writes(client, name)
    assert read_versions(client).named("live").read_only
    allow_writes(client, name)
    assert not read_versions(client).named("live").read_only


def test_the_live_version_is_removed_by_force_only(client: Client) -> None:
    name = create(client, 1, client.address.alias)
    live = read_versions(client).named("live")
    with pytest.raises(StoreError, match="--force"):
        remove(client, live)
    assert name in roles(client)
    remove(client, live, force=True)
    assert roles(client) == {}


def test_an_index_of_that_name_is_not_managed(client: Client) -> None:
    client.call("PUT", f"/{client.path}")
    with pytest.raises(StoreError, match="not an alias"):
        read_versions(client)


def test_an_alias_of_two_indices_is_an_error(client: Client) -> None:
    """Nobody knows which of them is meant."""
    for number in (1, 2):
        create(client, number, client.address.alias)
    with pytest.raises(StoreError, match="stands for"):
        read_versions(client)


def test_an_index_that_somebody_else_made_can_be_live(client: Client) -> None:
    """If it says that it is for sciret; anybody else's is not touched."""
    body: dict[str, Any] = {"aliases": {client.address.alias: {}}, "mappings": {"_meta": {"sciret": {"schema": 1}}}}
    client.call("PUT", f"/{client.path}-made-by-hand", body)
    live = read_versions(client).live
    assert live is not None
    assert (live.number, live.model) == (None, None)
    client.call("PUT", f"/{client.path}-000001", {"aliases": {f"{client.address.alias}-previous": {}}})
    with pytest.raises(StoreError, match="not made by sciret"):
        read_versions(client)
