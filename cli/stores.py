"""Which store a name stands for. The only place that knows that there are several."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sciret.errors import SettingsError
from sciret.store import Store


@contextmanager
def open_store(name: str, *, create: bool) -> Iterator[Store]:
    """A file is an embedded store; it is closed at the end of the block, also after an error."""
    if name.startswith(("http://", "https://")):
        raise SettingsError(
            f"{name}: OpenSearch stores are not part of this version yet; give the name of a file with --store"
        )
    from sciret.embedded.store import EmbeddedStore

    store = EmbeddedStore.open(name, create=create)
    try:
        yield store
    finally:
        store.close()
