"""Settings that make a first load quick while it lasts, and the way back, also after a load that was killed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from opensearchpy import OpenSearch
from opensearchpy.exceptions import TransportError

from sciret.connector.backoff import Patience, persist

_AUTOMATIC = "index.auto_expand_replicas"
_LOWERED = {"index.refresh_interval": "-1", "index.number_of_replicas": "0"}
_ROOM = "sciret"
BEFORE_LOAD = "before_load"
"""Where an index keeps its usual settings during a load, among what sciret says of it in `_meta`."""
_BRIEF = Patience(seconds=20)
"""After an error: whatever it was, the cluster may be gone, and the next run restores as well."""


class InitialLoad:
    """No refresh and no replicas from `begin` to the end of the block. What is written is searchable after it.

    A node that dies inside the block takes its papers with it: for loads that can be run again.
    """

    def __init__(self, client: OpenSearch) -> None:
        self._client = client
        self._indices: dict[str, None] = {}

    def begin(self, index: str) -> None:
        """Apart from the block, since an index is made by what is written first."""
        if index not in self._indices:
            self._indices[index] = None  # before anything is changed
            _lower(self._client, index)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._end(None)
        else:
            with suppress(TransportError):  # the error at hand says more
                self._end(_BRIEF)

    def _end(self, patience: Patience | None) -> None:
        for index in self._indices:
            restore(self._client, index, patience)


@contextmanager
def initial_load(client: OpenSearch, index: str) -> Iterator[None]:
    """The same for an index that is there."""
    with InitialLoad(client) as load:
        load.begin(index)
        yield


def restore(client: OpenSearch, index: str, patience: Patience | None = None) -> bool:
    """Put back what a load lowered, also one that was killed or that runs on another machine; whether there was any.

    Another load that still runs goes on with the usual settings, only slower.
    """
    state = persist(lambda: _State.read(client, index), patience)
    if state.before is None:
        return False
    persist(lambda: client.indices.put_settings(index=state.index, body=dict(state.before or {})), patience)
    persist(lambda: _remember(client, state, None), patience)
    persist(lambda: client.indices.refresh(index=state.index), patience)
    return True


def _lower(client: OpenSearch, index: str) -> None:
    """The usual values are written down first, in the index itself, so that being killed at any point loses nothing."""
    state = persist(lambda: _State.read(client, index))
    lowered = dict(_LOWERED)
    if state.settings.get(_AUTOMATIC, "false") != "false":
        lowered[_AUTOMATIC] = "false"
    if state.before is None:
        usual = {name: state.settings.get(name) for name in lowered}
        persist(lambda: _remember(client, state, usual))
    persist(lambda: client.indices.put_settings(index=state.index, body=lowered))


@dataclass(frozen=True, slots=True)
class _State:
    """An index as it is now."""

    index: str
    """Its own name, whichever alias it was asked for by."""
    settings: Mapping[str, str]
    meta: Mapping[str, Any]

    @classmethod
    def read(cls, client: OpenSearch, index: str) -> _State:
        # In this order: a load writes down before it lowers, so whoever sees lowered settings sees what they were.
        ((name, found),) = client.indices.get_settings(index=index, params={"flat_settings": "true"}).items()
        mapping = client.indices.get_mapping(index=name)[name]["mappings"]
        return cls(name, found["settings"], mapping.get("_meta", {}))

    @property
    def before(self) -> Mapping[str, str | None] | None:
        """The usual values, while a load has lowered them; None for a value that the server's default gives."""
        return self.meta.get(_ROOM, {}).get(BEFORE_LOAD)  # type: ignore[no-any-return]


def _remember(client: OpenSearch, state: _State, usual: Mapping[str, str | None] | None) -> None:
    """A mapping's _meta can only be replaced as a whole: it is read anew, since others keep things there too."""
    meta = dict(_State.read(client, state.index).meta)
    room = {name: value for name, value in meta.get(_ROOM, {}).items() if name != BEFORE_LOAD}
    if usual is not None:
        room[BEFORE_LOAD] = dict(usual)
    meta[_ROOM] = room
    client.indices.put_mapping(index=state.index, body={"_meta": meta})
