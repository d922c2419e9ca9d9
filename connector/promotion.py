"""Making a version live: after a migration, or going back to one that was live before."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from sciret.connector.changes import settled_numbers
from sciret.connector.client import Client
from sciret.connector.identity import Identity
from sciret.connector.indices import put_meta
from sciret.connector.versions import Version, allow_writes, read_versions, refuse_writes, swap
from sciret.errors import StoreError


@dataclass(frozen=True, slots=True)
class Rollback:
    promoted: Version
    retired: Version
    since: int | None
    """Writes and deletions that the retired version took since it went live; None where that is not known."""


def go_live(client: Client, promoted: Version, retired: Version) -> None:
    """Where its shards stand is written down first, so that one can tell later what was written since."""
    versions = read_versions(client)
    if versions.live is None or versions.live.index != retired.index:
        raise StoreError(f"{client.address}: {retired.index} is not live any more: somebody else was quicker")
    reached = {str(shard): last for shard, last in settled_numbers(client, promoted.index).items()}
    found = client.call("GET", f"/{quote(promoted.index)}/_mapping")[promoted.index]["mappings"]["_meta"]
    meta = {**found, "sciret": {**found["sciret"], "live_since": {"after": retired.index, "reached": reached}}}
    put_meta(client, promoted.index, meta, Identity(promoted.index, meta).options, vectors=None)
    try:
        swap(client, versions, versions.named(promoted.index))
    except StoreError:
        live = read_versions(client).live
        if live is None or live.index != promoted.index:  # otherwise it was done, and only the answer got lost
            raise


def roll_back(client: Client, to: str = "previous") -> Rollback:
    """Writes are refused from before the swap until after it, so none goes to a version that nobody searches."""
    versions = read_versions(client)
    live = versions.live
    if live is None or (to == "previous" and versions.of("previous") is None):
        raise StoreError(f"{client.address} has no version to go back to: `sciret index status` shows what it has")
    promoted = versions.named(to)
    if promoted.role in ("live", "next"):
        raise StoreError(f"{promoted.index} cannot be gone back to: it is {promoted.role}")
    refuse_writes(client, live.index)
    try:
        since = writes_since(client, live)
        go_live(client, promoted, live)
    except BaseException:
        allow_writes(client, live.index)
        raise
    allow_writes(client, promoted.index)
    return Rollback(promoted, live, since)


def writes_since(client: Client, version: Version) -> int | None:
    """Every write and every deletion has a number of its own in its shard."""
    reached = version.meta.get("live_since", {}).get("reached")
    if reached is None:
        return None
    settled = settled_numbers(client, version.index)
    return sum(last - int(reached.get(str(shard), -1)) for shard, last in settled.items())
