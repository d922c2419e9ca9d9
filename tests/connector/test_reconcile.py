"""Papers whose document is gone are removed, but not if they are suspiciously many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Protocol

import pytest
from library import Library, QuickEncoder, documents

from sciret.connector.identity import find_identity
from sciret.connector.reconcile import absent, reconcile
from sciret.connector.store import OpenSearchStore
from sciret.errors import StoreError
from sciret.mappings.options import IndexOptions
from sciret.paper import Paper

Both = tuple[Library, OpenSearchStore]


class Server(Protocol):
    @property
    def url(self) -> str: ...


@pytest.fixture
def both(opensearch: Server, unique_name: Callable[..., str]) -> Iterator[Both]:
    """A hundred documents, and a paper for each."""
    with ExitStack() as opened:
        library = Library(opensearch.url, unique_name("library"))
        opened.callback(library.client.close)
        library.put(documents(range(100)))
        where = f"{opensearch.url}/{unique_name('sidecar')}"
        options = IndexOptions(replicas=0, sentences=False)
        store = opened.enter_context(OpenSearchStore.open(where, create=True, options=options))
        store.write(list(QuickEncoder().encode_papers(Paper(f"d{n}", f"Title {n}") for n in range(100))))
        yield library, store


def run(both: Both, most_percent: float = 10) -> int:
    library, store = both
    identity = find_identity(store.client)
    assert identity
    return reconcile(library.client, store.client, identity.index, store, most_percent=most_percent)


def test_papers_without_a_document_are_removed(both: Both) -> None:
    library, store = both
    assert run(both) == 0
    library.remove("d3", "d50", "d99")
    assert run(both) == 3
    assert store.stats()["papers"] == 97
    assert store.hashes(["d3", "d50", "d99"]) == {}


def test_more_than_a_share_of_them_is_refused(both: Both) -> None:
    """And nothing is removed: more often than not the index is not what it should be."""
    library, store = both
    library.remove(*(f"d{n}" for n in range(11)))
    with pytest.raises(StoreError, match=r"11 or more of the 100 papers.*over 10 %.*--max-deletions 100"):
        run(both)
    assert store.stats()["papers"] == 100
    assert run(both, 11) == 11


def test_an_empty_index_empties_nothing(both: Both) -> None:
    library, store = both
    library.client.call(
        "POST", f"/{library.name}/_delete_by_query", {"query": {"match_all": {}}}, params={"refresh": "true"}
    )
    with pytest.raises(StoreError, match="nothing was deleted"):
        run(both)
    assert store.stats()["papers"] == 100


def test_a_document_that_comes_back_keeps_its_paper(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for again right before."""
    library, store = both
    library.remove("d3", "d4")
    asked = 0

    def again(*arguments: object) -> list[str]:
        nonlocal asked
        asked += 1
        found = absent(*arguments)  # type: ignore[arg-type]
        if asked == 1:
            library.put(documents([4]))
        return found

    monkeypatch.setattr("sciret.connector.reconcile.absent", again)
    assert run(both) == 1
    assert list(store.hashes(["d3", "d4"])) == ["d4"]
