"""An index that somebody else made and uses: what sciret must know of it before it reads or adds anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sciret.connector.client import Client
from sciret.connector.failures import MissingIndexError
from sciret.errors import StoreError


@dataclass(frozen=True, slots=True)
class Part:
    """The documents of one shard. The server numbers its writes (`_seq_no`); nothing is numbered twice."""

    index: str
    uuid: str
    """Of the index: one that was deleted and made again under the same name begins to count anew."""
    shard: int

    @property
    def key(self) -> str:
        return f"{self.uuid}/{self.shard}"


@dataclass(frozen=True, slots=True)
class ExistingIndex:
    """One index, as it is now."""

    name: str
    settings: Mapping[str, str]
    """Flat: `index.number_of_shards` and so on."""
    mapping: Mapping[str, Any]

    @property
    def uuid(self) -> str:
        return self.settings["index.uuid"]

    @property
    def parts(self) -> Iterator[Part]:
        return (Part(self.name, self.uuid, n) for n in range(int(self.settings["index.number_of_shards"])))

    @property
    def knn(self) -> bool:
        """Whether it may have graphs of nearest neighbours: said when an index is made, and never again."""
        return self.settings.get("index.knn") == "true"

    @property
    def meta(self) -> Mapping[str, Any]:
        return self.mapping.get("_meta") or {}

    @property
    def keeps_source(self) -> bool:
        return bool(self.mapping.get("_source", {}).get("enabled", True))

    @property
    def keeps_whole_source(self) -> bool:
        """Otherwise an update would lose fields: the server indexes anew what `_source` has, and no more."""
        kept = self.mapping.get("_source", {})
        return self.keeps_source and not kept.get("includes") and not kept.get("excludes")

    def field(self, path: str) -> Mapping[str, Any] | None:
        """How a field is mapped; None where the mapping does not name it."""
        return _field(self.mapping, path.split("."))


@dataclass(frozen=True, slots=True)
class Existing:
    """What a name stands for: an index, or the indices of an alias."""

    name: str
    indices: tuple[ExistingIndex, ...]

    @property
    def parts(self) -> list[Part]:
        return [part for index in self.indices for part in index.parts]

    def field_type(self, path: str) -> str | None:
        """The type of a field; None where no index has it."""
        found = (index.field(path) for index in self.indices)
        return next((str(field.get("type", "object")) for field in found if field is not None), None)

    def fields_of(self, *types: str) -> list[str]:
        """Paths of the fields that have one of these types."""
        return sorted({path for index in self.indices for path in _typed(index.mapping, "", types)})


def inspect(client: Client) -> Existing:
    """Refuses what cannot be read: documents are read from `_source`."""
    address = client.address
    try:
        settings = client.call("GET", f"/{client.path}/_settings", params={"flat_settings": "true"})
        mappings = client.call("GET", f"/{client.path}/_mapping")
    except MissingIndexError:
        raise MissingIndexError(
            f"no index or alias {address.alias!r} at {address.url}: check the name, _cat/indices lists what there is"
        ) from None
    indices = tuple(
        ExistingIndex(name, body["settings"], mappings[name]["mappings"])
        for name, body in sorted(settings.items())
        if name in mappings
    )
    for index in indices:
        if not index.keeps_source:
            raise StoreError(
                f"{address}: the index {index.name} does not keep its documents (_source is disabled), so there is "
                f"no text to read: give `sciret ingest` the files that it was made of"
            )
    return Existing(address.alias, indices)


def _field(mapping: Mapping[str, Any], parts: list[str]) -> Mapping[str, Any] | None:
    """A part of a path may be a property, or one of several forms of the same value (`title.keyword`)."""
    for room in ("properties", "fields"):
        found: Mapping[str, Any] | None = mapping.get(room, {}).get(parts[0])
        if found is not None:
            return _field(found, parts[1:]) if len(parts) > 1 else found
    return None


def _typed(mapping: Mapping[str, Any], prefix: str, types: tuple[str, ...]) -> Iterator[str]:
    for name, field in mapping.get("properties", {}).items():
        if field.get("type") in types:
            yield f"{prefix}{name}"
        yield from _typed(field, f"{prefix}{name}.", types)
