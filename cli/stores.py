"""Which store a name stands for. The only place that knows that there are several."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sciret.settings import Settings
from sciret.store import Store


@contextmanager
def open_store(settings: Settings, *, create: bool) -> Iterator[Store]:
    """An address is an alias on a cluster, anything else a file. Closed at the block's end, also after an error."""
    store = _open(settings, create=create)
    try:
        yield store
    finally:
        store.close()


def _open(settings: Settings, *, create: bool) -> Store:
    from sciret.connector.address import is_address

    if not is_address(settings.store):
        from sciret.embedded.store import EmbeddedStore

        return EmbeddedStore.open(settings.store, create=create)
    from sciret.cli.cluster import credentials_of
    from sciret.connector.backoff import Patience
    from sciret.connector.store import OpenSearchStore

    return OpenSearchStore.open(
        settings.store,
        credentials=credentials_of(settings),
        create=create,
        exact=settings.exact,
        # Only an ingest makes a store. It is long: it waits for a cluster, and lets it refresh at its own pace.
        refresh=not create,
        patience=Patience() if create else None,
    )
