"""What a migration makes of papers: those that were there, and those that are written meanwhile."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from threading import Event, Thread

import numpy as np
import pytest

from sciret.connector.address import Address
from sciret.connector.client import Client
from sciret.connector.store import OpenSearchStore
from sciret.connector.versions import read_versions
from sciret.encoders.encoder import Encoder
from sciret.errors import StoreError
from sciret.paper import Paper
from sciret.retrieval.migrate import MigrationReport, encode_again, migrate, take_over

from .conftest import LAYOUT, Begin, nothing


def test_taken_over_papers_are_the_same(
    client: Client, store: OpenSearchStore, start: Begin, corpus: list[Paper]
) -> None:
    """Record, sentences and vectors, to the last bit."""
    ids = [paper.id for paper in corpus]
    before = store.get(ids)
    report = migrate(start(), take_over, nothing)
    after = store.get(ids)
    assert report.copied == report.papers == len(corpus) == len(after)
    for paper_id, old in before.items():
        new = after[paper_id]
        assert (new.paper, new.sentences, new.roles, new.model) == (old.paper, old.sentences, old.roles, old.model)
        assert old.dense is not None
        assert np.array_equal(new.dense, old.dense)  # type: ignore[arg-type]
        assert np.array_equal(new.sentence_vectors, old.sentence_vectors)  # type: ignore[arg-type]


def test_papers_of_another_model_are_encoded_as_an_ingest_would(
    client: Client, store: OpenSearchStore, start: Begin, corpus: list[Paper], new_encoder: Encoder
) -> None:
    migrate(start(LAYOUT, new_encoder), encode_again(new_encoder), nothing)
    stored = store.get([paper.id for paper in corpus])
    for fresh in new_encoder.encode_papers(corpus):
        kept = stored[fresh.paper.id]
        assert (kept.model, kept.paper) == (new_encoder.model, fresh.paper)
        assert kept.dense is not None
        assert fresh.dense is not None
        assert np.abs(kept.dense - fresh.dense).max() < 1e-3


class Writing:
    """A writer that goes on changing, adding and deleting papers, and keeps account of what was acknowledged."""

    def __init__(self, address: Address, encoder: Encoder, papers: Sequence[Paper]) -> None:
        self._address, self._encoder = address, encoder
        self.expected: dict[str, str | None] = {paper.id: paper.content_hash for paper in papers}
        self._papers = list(papers)
        self.refused: list[str] = []
        self.over = Event()
        self.thread = Thread(target=self._write)

    def _write(self) -> None:
        with OpenSearchStore.open(self._address, refresh=False) as store:
            number = 0
            while not self.over.is_set():
                number += 1
                paper = self._papers[number % len(self._papers)]
                new = replace(paper, id=f"added-{number}", title=f"{paper.title} again")
                changed = replace(paper, title=f"{paper.title} ({number})")
                gone = self._papers[-1 - number % 40].id
                try:
                    store.write(list(self._encoder.encode_papers([new, changed])))
                    self.expected[new.id], self.expected[changed.id] = new.content_hash, changed.content_hash
                    store.delete([gone])
                    self.expected[gone] = None
                except StoreError as error:
                    self.refused.append(str(error))
                    self.expected.pop(new.id, None)
                    for each in (changed.id, gone):  # which of them went through is not known: nothing is promised
                        self.expected.pop(each, None)


def test_what_is_acknowledged_meanwhile_is_in_the_new_version(
    client: Client, store: OpenSearchStore, start: Begin, corpus: list[Paper], old_encoder: Encoder
) -> None:
    """Added, changed and deleted papers; a write that comes too late is refused, not lost."""
    writing = Writing(client.address, old_encoder, corpus)
    writing.thread.start()
    try:
        report = migrate(start(), take_over, nothing)
        time.sleep(0.5)
    finally:
        writing.over.set()
        writing.thread.join()
    wanted = {paper_id: found for paper_id, found in writing.expected.items() if found}
    gone = [paper_id for paper_id, found in writing.expected.items() if not found]
    assert report.passes > 2
    assert store.hashes(list(wanted)) == wanted
    assert store.hashes(gone) == {}
    assert any(paper_id.startswith("added") for paper_id in wanted)
    assert gone
    assert all("write" in reason for reason in writing.refused)


def test_a_writer_that_missed_the_swap_is_refused(client: Client, store: OpenSearchStore, start: Begin) -> None:
    """The version that was live takes no writes any more, even by its own name."""
    old = read_versions(client).live
    assert old is not None
    migrate(start(), take_over, nothing)
    with pytest.raises(StoreError, match="blocked"):
        client.call("PUT", f"/{old.index}/_doc/late", {"id": "late"})


def test_progress_is_told(client: Client, store: OpenSearchStore, start: Begin) -> None:
    phases: list[str] = []

    def tell(report: MigrationReport) -> None:
        if not phases or phases[-1] != report.phase:
            phases.append(report.phase)

    migrate(start(), take_over, nothing, tell)
    assert phases == ["copying", "catching up", "comparing", "swapping", "done"]
