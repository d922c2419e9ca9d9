"""What an index of ours says of itself, and what is refused because of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sciret.connector.client import Client
from sciret.connector.failures import MissingIndexError
from sciret.errors import StoreError
from sciret.mappings.options import IndexOptions
from sciret.mappings.templates import SCHEMA


class InPlaceError(StoreError):
    """The index is another application's, with fields of sciret inside its documents (`sciret attach --in-place`)."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The index behind an alias at one moment: a migration may put another one there."""

    index: str
    meta: Mapping[str, Any]
    """All of `_meta`; what other commands keep there is kept."""

    @property
    def own(self) -> Mapping[str, Any]:
        """What sciret says of the index."""
        found: Mapping[str, Any] = self.meta["sciret"]
        return found

    @property
    def model(self) -> str | None:
        return self.own.get("model")

    @property
    def dims(self) -> int | None:
        return self.own.get("dims")

    @property
    def beta(self) -> float:
        return float(self.own.get("beta", 0.25))

    @property
    def learned(self) -> bool:
        """Whether papers have features of a learned sparse model."""
        return bool(self.own.get("learned", False))

    @property
    def sentences(self) -> bool:
        """Whether single sentences can be searched for."""
        return bool(self.own.get("sentences", True))

    @property
    def options(self) -> IndexOptions:
        return IndexOptions.from_dict(self.own.get("options", {"sentences": self.sentences}))


def find_identity(client: Client) -> Identity | None:
    """The index behind the client's alias; None where there is none. What is not ours is refused."""
    alias = client.address.alias
    try:
        found = client.call("GET", f"/{client.path}/_mapping")
    except MissingIndexError:
        return None
    if len(found) != 1:
        raise StoreError(f"{client.address}: {alias!r} stands for {len(found)} indices; name an alias of one index")
    (index, body), *_ = found.items()
    meta = body["mappings"].get("_meta") or {}
    check_meta(meta, str(client.address))
    if "model" not in body["mappings"].get("properties", {}):
        raise StoreError(
            f"{client.address}: your role does not show you the fields that a search needs; ask for one without "
            f"field-level rules, such as sciret_{alias}_reader"
        )
    return Identity(index, meta)


def check_meta(meta: Mapping[str, Any], where: str) -> None:
    """Refuse an index that is not of sciret, or of a newer one."""
    own = meta.get("sciret")
    if isinstance(own, Mapping) and "in_place" in own:
        raise InPlaceError(
            f"{where} is another application's index that sciret was attached to in place: it can be searched, "
            f"`sciret sync` keeps it up to date, and the rest is that application's business"
        )
    if not isinstance(own, Mapping) or not isinstance(own.get("schema"), int):
        raise StoreError(
            f"{where}: this index was not made by sciret: `sciret attach` adds what a search needs to an index that "
            f"you have, or name another alias"
        )
    if own["schema"] > SCHEMA:
        raise StoreError(f"{where} has schema {own['schema']}, this sciret knows {SCHEMA}: upgrade sciret to use it")
