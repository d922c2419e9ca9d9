"""The versions of a store: which index is live, which one was before, which one is being built.

What a version is to the store is said by aliases and by nothing else, so one request changes it for everybody at the
same moment: `papers` is live, `papers-next` is being built by a migration, `papers-previous` was live before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from sciret.connector.client import Client
from sciret.connector.identity import check_meta
from sciret.connector.indices import index_name
from sciret.errors import StoreError
from sciret.mappings.options import IndexOptions

Role = Literal["live", "previous", "next", "retired"]
SUFFIXES: Mapping[Role, str] = {"live": "", "previous": "-previous", "next": "-next"}
_WANTED = "*.aliases,*.mappings._meta,*.settings.index.creation_date,*.settings.index.blocks.write"


@dataclass(frozen=True, slots=True)
class Version:
    """One index of a store."""

    index: str
    role: Role
    number: int | None
    """Of `papers-000003`; None for an index that somebody else gave the alias to."""
    created: int
    """Milliseconds since 1970."""
    meta: Mapping[str, Any]
    """What it says of itself under `_meta.sciret`."""
    read_only: bool
    """Writes are refused: it is not live any more, or a migration is about to swap."""

    @property
    def model(self) -> str | None:
        return self.meta.get("model")

    @property
    def options(self) -> IndexOptions:
        return IndexOptions.from_dict(self.meta.get("options", {}))


@dataclass(frozen=True, slots=True)
class Versions:
    """All indices of one alias, oldest first."""

    alias: str
    all: tuple[Version, ...]

    def __iter__(self) -> Iterator[Version]:
        return iter(self.all)

    def of(self, role: Role) -> Version | None:
        return next((version for version in self.all if version.role == role), None)

    @property
    def live(self) -> Version | None:
        return self.of("live")

    @property
    def next_name(self) -> str:
        """Of an index that there never was, or not any more."""
        return index_name(self.alias, 1 + max((version.number or 0 for version in self.all), default=0))

    def named(self, name: str) -> Version:
        """By its index, its number or what it is to the store."""
        for version in self.all:
            if name in (version.index, version.role) or (name.isdecimal() and int(name) == version.number):
                return version
        there = ", ".join(version.index for version in self.all) or "none"
        raise StoreError(f"{self.alias} has no version {name!r}; there are {there}")


def read_versions(client: Client) -> Versions:
    """As they are now. An index that has the alias' own name is none of ours to manage."""
    alias, path = client.address.alias, client.path
    options = {"ignore_unavailable": "true", "expand_wildcards": "all", "filter_path": _WANTED}
    # Not `papers-*`: that would ask for stores of others too, which whoever asks may not be allowed to see.
    names = ",".join((*(path + suffix for suffix in SUFFIXES.values()), f"{path}-0*"))
    found = client.call("GET", f"/{names}", params=options)
    if alias in found:
        raise StoreError(
            f"{client.address}: {alias!r} is an index, not an alias of one: its versions cannot be managed; "
            f"`sciret attach --from` takes its papers into a store of our own"
        )
    versions = [_version(alias, index, body) for index, body in found.items()]
    ours = sorted((each for each in versions if each), key=lambda each: (each.number or 0, each.created))
    for version in ours:  # another application may name its indices alike, or have sciret in its documents
        check_meta({"sciret": version.meta}, f"{client.address.url}/{version.index}")
    for role in SUFFIXES:
        several = [version.index for version in ours if version.role == role]
        if len(several) > 1:
            name = alias + SUFFIXES[role]
            raise StoreError(f"{client.address}: the alias {name!r} stands for {', '.join(several)}; leave it one")
    return Versions(alias, tuple(ours))


def _version(alias: str, index: str, body: Mapping[str, Any]) -> Version | None:
    """None for an index of another store, such as one with a longer alias."""
    numbered = re.fullmatch(re.escape(alias) + r"-([0-9]{6,})", index)
    roles = [role for role, suffix in SUFFIXES.items() if alias + suffix in body.get("aliases", {})]
    if not numbered and not roles:
        return None
    settings = body["settings"]["index"]
    return Version(
        index=index,
        role=roles[0] if roles else "retired",
        number=int(numbered[1]) if numbered else None,
        created=int(settings["creation_date"]),
        meta=body.get("mappings", {}).get("_meta", {}).get("sciret", {}),
        read_only=settings.get("blocks", {}).get("write") == "true",
    )


def swap(client: Client, versions: Versions, promoted: Version) -> None:
    """Make a version live, and what was live the previous one, in one step that nobody can see half of.

    Refused as a whole if another one was made live since `versions` were read.
    """
    alias, live = versions.alias, versions.live
    actions = [_action("remove", promoted, alias + SUFFIXES[promoted.role])] if promoted.role in SUFFIXES else []
    previous = versions.of("previous")
    if previous and previous is not promoted:
        actions.append(_action("remove", previous, alias + SUFFIXES["previous"]))
    if live:
        actions.append(_action("remove", live, alias))
        actions.append(_action("add", live, alias + SUFFIXES["previous"]))
    actions.append(_action("add", promoted, alias))
    change_aliases(client, actions)


def _action(verb: str, version: Version, alias: str) -> dict[str, Any]:
    must = {"must_exist": True} if verb == "remove" else {}  # otherwise removing nothing would be fine with the server
    return {verb: {"index": version.index, "alias": alias, **must}}


def change_aliases(client: Client, actions: Sequence[Mapping[str, Any]]) -> None:
    client.call("POST", "/_aliases", {"actions": list(actions)})


def refuse_writes(client: Client, index: str) -> None:
    """From here on. Returns when every write that was under way is done, so nothing is written after it."""
    answer = client.call("PUT", f"/{quote(index)}/_block/write")
    if not (answer.get("acknowledged") and answer.get("shards_acknowledged")):
        raise StoreError(f"{client.address}: not every shard of {index} would stop taking writes; try again later")


def allow_writes(client: Client, index: str) -> None:
    client.call("PUT", f"/{quote(index)}/_settings", {"index": {"blocks": {"write": None}}})


def remove(client: Client, version: Version, *, force: bool = False) -> None:
    """For good. The live version goes only by force: what searches the store has nothing left then."""
    if version.role == "live" and not force:
        raise StoreError(f"{version.index} is live: make another version live first, or remove it with --force")
    client.call("DELETE", f"/{quote(version.index)}")
