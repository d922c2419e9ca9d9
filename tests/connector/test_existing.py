"""What sciret sees of an index that somebody else made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import pytest

from sciret.connector.address import Address
from sciret.connector.client import connect
from sciret.connector.existing import Existing, ExistingIndex, inspect
from sciret.connector.failures import MissingIndexError
from sciret.errors import StoreError


class Server(Protocol):
    @property
    def url(self) -> str: ...


def look(opensearch: Server, name: str, body: dict[str, Any] | None = None) -> Existing:
    client = connect(Address.parse(f"{opensearch.url}/{name}"))
    try:
        if body is not None:
            client.call("PUT", f"/{name}", body)
        return inspect(client)
    finally:
        client.close()


def test_parts_fields_and_settings(opensearch: Server, unique_name: Callable[..., str]) -> None:
    name = unique_name()
    properties = {
        "pub": {"properties": {"year": {"type": "integer"}}},
        "t": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
    }
    settings = {"number_of_shards": 3, "index.knn": True}
    found = look(opensearch, name, {"settings": settings, "mappings": {"_meta": {"app": 1}, "properties": properties}})
    (index,) = found.indices
    assert [part.shard for part in found.parts] == [0, 1, 2]
    assert len({part.key for part in found.parts}) == 3
    assert (index.knn, index.meta, index.keeps_whole_source) == (True, {"app": 1}, True)
    assert found.field_type("pub.year") == "integer"
    assert found.field_type("t.raw") == "keyword"
    assert found.field_type("pub") == "object"
    assert found.field_type("pub.month") is None


def test_an_index_made_again_has_other_parts(opensearch: Server, unique_name: Callable[..., str]) -> None:
    """Its numbers begin anew: a position of the old one says nothing about it."""
    name = unique_name()
    before = look(opensearch, name, {}).parts
    client = connect(Address.parse(f"{opensearch.url}/{name}"))
    client.call("DELETE", f"/{name}")
    client.close()
    assert before[0].key != look(opensearch, name, {}).parts[0].key


def test_an_index_without_source_is_refused(opensearch: Server, unique_name: Callable[..., str]) -> None:
    with pytest.raises(StoreError, match=r"_source is disabled.*sciret ingest"):
        look(opensearch, unique_name(), {"mappings": {"_source": {"enabled": False}}})


def test_a_source_with_gaps() -> None:
    """Such an index can be read, but not updated: the server would lose what it does not keep."""
    index = ExistingIndex("i", {}, {"_source": {"excludes": ["fulltext"]}})
    assert index.keeps_source
    assert not index.keeps_whole_source


def test_an_index_that_is_not_there(opensearch: Server, unique_name: Callable[..., str]) -> None:
    with pytest.raises(MissingIndexError, match="check the name"):
        look(opensearch, unique_name())
