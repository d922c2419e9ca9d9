"""Migration: the live index of a store and the one that is to follow it, as `sciret.retrieval.migrate` moves papers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from urllib.parse import quote

from sciret.connector.attachment import load_attachment, save_attachment
from sciret.connector.backoff import Patience
from sciret.connector.changes import Changes, count, surplus
from sciret.connector.client import Client, connect
from sciret.connector.credentials import Credentials
from sciret.connector.indices import IndexOptions, create_index, index_meta
from sciret.connector.initial_load import initial_load
from sciret.connector.promotion import go_live
from sciret.connector.store import OpenSearchStore
from sciret.connector.version_figures import health
from sciret.connector.versions import (
    SUFFIXES,
    Version,
    allow_writes,
    read_versions,
    refuse_writes,
)
from sciret.errors import StoreError

COPYING = 600.0
"""Seconds to wait for the copies of a new index."""
_HEALTH = ("red", "yellow", "green")


class Migration:
    """Made by `begin`. Two that run at once do the same work twice; only one of them can swap."""

    def __init__(self, client: Client, following: Client, old: Version, new: Version) -> None:
        self._client, self._following = client, following
        self.old_version, self.new_version = old, new
        self.old = OpenSearchStore(client)
        self.new = OpenSearchStore(following, refresh=False)
        self._changes = Changes(client, old.index)

    def changes(self) -> Iterator[Sequence[str]]:
        return iter(self._changes)

    def surplus(self) -> Iterator[Sequence[str]]:
        return surplus(self._client, self.new_version.index, self.old_version.index)

    def counts(self) -> tuple[int, int]:
        return count(self._client, self.old_version.index), count(self._client, self.new_version.index)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Afterwards the new version has as many copies as it should, if the cluster has the nodes for them.

        Vectors that are taken over come in faster than copies can be made of them. Where papers are encoded anew, which
        may take days, copies cost nothing, and a node that dies takes nothing with it.
        """
        if self.old_version.model == self.new_version.model:
            with self._client.explained(), initial_load(self._client.api, self.new_version.index):
                yield
        else:
            yield
        wanted = health(self._client, self.old_version.index)
        late = time.monotonic() + COPYING
        while _HEALTH.index(reached := health(self._client, self.new_version.index)) < _HEALTH.index(wanted):
            if time.monotonic() > late:
                raise StoreError(
                    f"{self.new_version.index} is {reached} where {self.old_version.index} is {wanted}: nothing was "
                    f"swapped; run the same command again when the cluster has made its copies"
                )
            time.sleep(1)

    @contextmanager
    def hold_writes(self) -> Iterator[None]:
        """What was live stays read-only afterwards: a writer that missed the swap is told so, and nothing is lost."""
        refuse_writes(self._client, self.old_version.index)
        try:
            yield
        except BaseException:
            with suppress(StoreError):  # the error at hand says more, and `sciret index status` shows what is left
                allow_writes(self._client, self.old_version.index)
            raise

    def swap(self) -> None:
        go_live(self._client, self.new_version, self.old_version)

    def sample(self, papers: int, seed: int = 0) -> list[str]:
        """Ids of some papers of the old version, the same ones as long as nothing is written."""
        chance = {"random_score": {"seed": seed, "field": "_seq_no"}}
        body = {"query": {"function_score": chance}, "size": papers, "_source": False, "docvalue_fields": ["id"]}
        answer = self._client.call("POST", f"/{quote(self.old_version.index)}/_search", body)
        return [hit["fields"]["id"][0] for hit in answer["hits"]["hits"]]

    def close(self) -> None:
        self.old.close()
        self.new.close()


def begin(
    client: Client,
    credentials: Credentials,
    options: IndexOptions,
    *,
    model: str | None,
    model_name: str | None,
    dims: int | None,
) -> Migration:
    """The next version, as it should be: made anew, or found as a migration that was broken off has left it."""
    versions = read_versions(client)
    live, following = versions.live, versions.of("next")
    if live is None:
        raise StoreError(f"{client.address}: there is nothing to migrate: `sciret index create` makes a store")
    if live.read_only and following:
        allow_writes(client, live.index)  # a migration was killed between its last pass and its swap
    if following is None:
        meta = index_meta(options, model=model, model_name=model_name, dims=dims)
        create_index(client, versions.next_name, options, meta, alias=client.address.alias + SUFFIXES["next"])
        following = read_versions(client).named("next")
    elif (following.model, following.options) != (model, options):
        raise StoreError(
            f"{following.index} was left by a migration to another model or layout: continue that one with the options "
            f"it was begun with, or remove it: sciret index delete next --store {client.address}"
        )
    address = replace(client.address, alias=client.address.alias + SUFFIXES["next"])
    built = connect(address, credentials)
    client.patience, built.patience = Patience(), Patience()
    attachment = load_attachment(client)
    if attachment:  # from here on at the latest: what is followed meanwhile is caught up with like all other writes
        save_attachment(built, attachment)
    return Migration(client, built, live, following)
