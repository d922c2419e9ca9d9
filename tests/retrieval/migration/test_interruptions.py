"""A migration that fails, is stopped or is not alone leaves the live version as it was, and can be continued."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

import pytest

from sciret.connector.client import Client
from sciret.connector.store import OpenSearchStore
from sciret.connector.versions import read_versions, refuse_writes
from sciret.encoded import EncodedPaper
from sciret.encoders.encoder import Encoder
from sciret.errors import StoreError
from sciret.paper import Paper
from sciret.retrieval.migrate import encode_again, migrate, take_over

from .conftest import LAYOUT, Begin, nothing


def test_a_version_that_is_not_good_enough_does_not_go_live(
    client: Client, store: OpenSearchStore, start: Begin
) -> None:
    """The old one serves and takes writes as before; the next try goes on where this one ended."""

    def refuse() -> None:
        raise StoreError("not good enough")

    before = read_versions(client).live
    with pytest.raises(StoreError, match="not good enough"):
        migrate(start(), take_over, refuse)
    versions = read_versions(client)
    assert versions.live == before
    assert versions.of("next") is not None
    report = migrate(start(), take_over, nothing)
    assert report.copied == 0
    assert read_versions(client).of("next") is None


def test_writes_are_taken_again_when_the_last_stepfails(
    client: Client, store: OpenSearchStore, start: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    move = start()

    def fail() -> None:
        raise StoreError("no swap today")

    monkeypatch.setattr(move, "swap", fail)
    with pytest.raises(StoreError, match="no swap today"):
        migrate(move, take_over, nothing)
    live = read_versions(client).live
    assert live is not None
    assert not live.read_only
    assert live.number == 1


def test_a_migration_that_was_killed_while_it_held_writes_lets_them_go_when_continued(
    client: Client, store: OpenSearchStore, start: Begin
) -> None:
    start()
    live = read_versions(client).live
    assert live is not None
    refuse_writes(client, live.index)
    start()
    assert store.delete(["ex-001"]) == 1


class Interrupted:
    """An encoder during which somebody presses Ctrl-C."""

    def __init__(self, encoder: Encoder) -> None:
        self.model, self._encoder = encoder.model, encoder

    def encode_papers(self, papers: Iterable[Paper]) -> Iterator[EncodedPaper]:
        yield from islice(self._encoder.encode_papers(papers), 30)
        raise KeyboardInterrupt


def test_ctrl_c_ends_it_without_a_swap(
    client: Client, store: OpenSearchStore, start: Begin, corpus: list[Paper], new_encoder: Encoder
) -> None:
    """What was encoded until then is kept for the next try."""
    with pytest.raises(KeyboardInterrupt):
        migrate(start(LAYOUT, new_encoder), encode_again(Interrupted(new_encoder)), nothing)
    live = read_versions(client).live
    assert live is not None
    assert (live.number, live.read_only) == (1, False)
    assert migrate(start(LAYOUT, new_encoder), encode_again(new_encoder), nothing).copied == len(corpus) - 30


def test_only_one_of_two_migrations_swaps(client: Client, store: OpenSearchStore, start: Begin) -> None:
    """The other one is told so; the store is whole."""
    first, second = start(), start()
    report = migrate(first, take_over, nothing)
    with pytest.raises(StoreError):
        migrate(second, take_over, nothing)
    assert store.stats()["papers"] == report.papers
    live = read_versions(client).live
    assert live is not None
    assert not live.read_only


def test_a_migration_to_something_else_does_not_continue_an_unfinished_one(
    client: Client, store: OpenSearchStore, start: Begin
) -> None:
    start(replace(LAYOUT, shards=2))
    with pytest.raises(StoreError, match="sciret index delete next"):
        start(replace(LAYOUT, shards=3))
