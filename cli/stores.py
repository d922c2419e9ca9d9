"""Which store a name stands for. The only place that knows that there are several."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sciret.errors import SettingsError
from sciret.settings import Settings
from sciret.store import Store


@contextmanager
def open_store(settings: Settings, *, create: bool, initial_load: bool = False) -> Iterator[Store]:
    """An address is an alias on a cluster, anything else a file. Closed at the block's end, also after an error."""
    from sciret.connector.address import is_address

    if is_address(settings.store):
        with _on_cluster(settings, create=create, initial_load=initial_load) as store:
            yield store
        return
    if initial_load:
        raise SettingsError(f"--initial-load is for stores on OpenSearch; leave it out for the file {settings.store}")
    from sciret.embedded.store import EmbeddedStore

    with EmbeddedStore.open(settings.store, create=create) as file:
        yield file


@contextmanager
def _on_cluster(settings: Settings, *, create: bool, initial_load: bool) -> Iterator[Store]:
    from sciret.cli.cluster import credentials_of
    from sciret.connector.backoff import Patience
    from sciret.connector.identity import InPlaceError
    from sciret.connector.in_place import InPlaceStore
    from sciret.connector.store import OpenSearchStore

    def open_as(kind: type[OpenSearchStore]) -> OpenSearchStore:
        return kind.open(
            settings.store,
            credentials=credentials,
            create=create,
            exact=settings.exact,
            # Only an ingest makes a store. It is long: it waits for a cluster, and lets it refresh at its own pace.
            refresh=not create,
            patience=Patience() if create else None,
        )

    credentials = credentials_of(settings)
    try:
        opened = open_as(OpenSearchStore)
    except InPlaceError:
        if create:  # an ingest would replace the other application's documents
            raise
        opened = open_as(InPlaceStore)
    with opened as store:
        if not create:
            yield store
            return
        with store.loading(initial=initial_load):
            yield store
