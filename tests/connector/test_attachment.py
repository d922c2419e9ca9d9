"""What a store remembers of the index that it follows is kept with it, beside what else is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import pytest
from library import Library

from sciret.connector.attachment import Attachment, Progress, load_attachment, save_attachment

ATTACHMENT = Attachment(
    "https://host:9200/library",
    {"title": "bib.titel", "year": "pub.year"},
    True,
    {"_seq_no": Progress(positions={"u/0": 41, "u/1": 7}, reached=5, sure=True), "at": Progress(3, 9, {"u/0": 1})},
)


class Server(Protocol):
    @property
    def url(self) -> str: ...


@pytest.fixture
def library(opensearch: Server, unique_name: Callable[..., str]) -> Iterator[Library]:
    made = Library(opensearch.url, unique_name("library"))
    yield made
    made.client.close()


def test_it_comes_back_as_it_was(library: Library) -> None:
    """And what others keep in `_meta` stays there."""
    assert load_attachment(library.client) is None
    save_attachment(library.client, ATTACHMENT)
    assert load_attachment(library.client) == ATTACHMENT
    advanced = ATTACHMENT.advanced("at", Progress(9))
    save_attachment(library.client, advanced)
    assert load_attachment(library.client) == advanced
    found = library.client.call("GET", f"/{library.name}/_mapping")[library.name]["mappings"]["_meta"]
    assert found["owner"] == "library"


def test_without_an_index_there_is_nothing_to_remember(library: Library) -> None:
    library.client.call("DELETE", f"/{library.name}")
    save_attachment(library.client, ATTACHMENT)
    assert load_attachment(library.client) is None


def test_other_fields_make_other_papers() -> None:
    assert ATTACHMENT.means_the_same(Attachment("elsewhere", dict(ATTACHMENT.fields), True))
    assert not ATTACHMENT.means_the_same(Attachment(ATTACHMENT.source, ATTACHMENT.fields, False))
    assert not ATTACHMENT.means_the_same(Attachment(ATTACHMENT.source, {"title": "t"}, True))
    assert ATTACHMENT.by("nothing") == Progress()
