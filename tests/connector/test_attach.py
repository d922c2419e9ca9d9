"""What is made sure of before a whole index is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Protocol

import pytest
from library import Library, QuickEncoder, documents

from sciret.connector.address import Address
from sciret.connector.attach import check_attachment, check_fields, check_sidecar, sidecar_address
from sciret.connector.attachment import Attachment, Progress, save_attachment
from sciret.connector.client import connect
from sciret.connector.existing import inspect
from sciret.connector.field_map import FieldMap
from sciret.connector.store import OpenSearchStore
from sciret.errors import SettingsError, StoreError
from sciret.mappings.options import IndexOptions
from sciret.paper import Paper

HERE = Address.parse("https://host:9200/search/library")


class Server(Protocol):
    @property
    def url(self) -> str: ...


@pytest.fixture
def library(opensearch: Server, unique_name: Callable[..., str]) -> Iterator[Library]:
    made = Library(opensearch.url, unique_name("library"))
    yield made
    made.client.close()


def test_a_sidecar_is_beside_the_index_and_in_no_pattern_of_its_name() -> None:
    """`library*` finds what it found before."""
    assert str(sidecar_address(HERE)) == "https://host:9200/search/sciret-library"


def test_fields_that_nothing_is_at_are_refused(library: Library) -> None:
    library.put(documents(range(5)))
    existing = inspect(library.client)
    check_fields(library.client, existing, FieldMap.of("bib.titel", "kurz", {"year": "revision"}))
    with pytest.raises(SettingsError, match=r"--title titel: none of 5 documents .*there are bib.titel, kurz, shelf"):
        check_fields(library.client, existing, FieldMap.of("titel", None, {}))
    with pytest.raises(SettingsError, match=r"--field year=pub.year"):
        check_fields(library.client, existing, FieldMap.of("bib.titel", None, {"year": "pub.year"}))


def test_fields_that_the_mapping_does_not_know_are_looked_for(library: Library) -> None:
    """As those of an object that is kept and not indexed."""
    library.client.call(
        "PUT", f"/{library.name}/_mapping", {"properties": {"raw": {"type": "object", "enabled": False}}}
    )
    library.put(documents([1], raw={"name": "N"}))
    existing = inspect(library.client)
    check_fields(library.client, existing, FieldMap.of("raw.name", None, {}))
    with pytest.raises(SettingsError, match=r"raw\.title"):
        check_fields(library.client, existing, FieldMap.of("raw.title", None, {}))


def test_the_place_for_papers(library: Library, opensearch: Server, unique_name: Callable[..., str]) -> None:
    """Free, or attached before; never one that has other papers, or the index itself."""
    existing = inspect(library.client)
    with pytest.raises(SettingsError, match="--in-place"):
        check_sidecar(library.client, existing)
    with closing(connect(Address.parse(f"{opensearch.url}/{unique_name('own')}"))) as client:
        assert check_sidecar(client, existing) is None
        with OpenSearchStore.open(client.address, create=True, options=IndexOptions(replicas=0)) as store:
            store.write(list(QuickEncoder().encode_papers([Paper("p", "Title")])))
        with pytest.raises(StoreError, match=r"papers that came otherwise.*--into"):
            check_sidecar(client, existing)
        save_attachment(client, Attachment(library.address, {"title": "bib.titel"}))
        assert check_sidecar(client, existing) == Attachment(library.address, {"title": "bib.titel"})


def test_what_to_go_on_with() -> None:
    before = Attachment("a", {"title": "t"}, progress={"_seq_no": Progress(positions={"u/0": 3})})
    assert check_attachment(None, before, HERE) is before
    assert check_attachment(before, Attachment("a", {"title": "t"}), HERE) is before
    other = Attachment("a", {"title": "t", "abstract": "k"})
    assert check_attachment(before, other, HERE) is other  # papers are made of more: all are read again
    with pytest.raises(StoreError, match=r"is attached to a, not to b.*--into"):
        check_attachment(before, Attachment("b", {"title": "t"}), HERE)
