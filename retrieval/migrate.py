"""The migration path: a new version of a store is built while the old one serves, and takes its place in one step.

What it guarantees: a write or deletion that the old version acknowledged is in the new one when it goes live, and one
that comes after the old version stopped taking writes is refused, never lost in silence. Searches go on throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, NoReturn, Protocol

from sciret.encoded import EncodedPaper
from sciret.errors import RecordError, StoreError
from sciret.paper import Paper
from sciret.retrieval.ingest import IngestReport, PaperEncoder, ingest
from sciret.retrieval.readahead import ReadAhead
from sciret.store import Store

BATCH = 256
"""Papers taken over at once: their vectors are some megabytes."""
SMALL = 64
"""Changed papers of a pass that are few enough to do while writes wait."""
PASSES = 10
"""After so many, writes come faster than they can be copied, and have to wait for the rest of them."""

Phase = Literal["copying", "catching up", "comparing", "swapping", "done"]


class Move(Protocol):
    """The live version of a store, and the one that is to follow it."""

    @property
    def old(self) -> Store: ...

    @property
    def new(self) -> Store: ...

    def changes(self) -> Iterable[Sequence[str]]:
        """Ids that were written to the old version since the last time; the first time, all."""

    def surplus(self) -> Iterable[Sequence[str]]:
        """Ids of papers that the new version has and the old one does not, since they were deleted there."""

    def counts(self) -> tuple[int, int]:
        """Papers in the old version and in the new one."""

    def loading(self) -> AbstractContextManager[None]:
        """The new version is filled quickly inside the block, and as safe as the old one after it."""

    def hold_writes(self) -> AbstractContextManager[None]:
        """The old version takes no writes from the beginning of the block on; after an error it takes them again."""

    def swap(self) -> None:
        """Everybody who asks for the store gets the new version from here on."""


@dataclass(slots=True)
class MigrationReport:
    """Counts so far."""

    phase: Phase = "copying"
    papers: int = 0
    """In the old version when it began; in the new one when it is done."""
    copied: int = 0
    deleted: int = 0
    """Papers that were deleted from the old version meanwhile."""
    passes: int = 0
    seconds: float = 0.0
    held: float = 0.0
    """Seconds during which writes were refused."""


Copy = Callable[[Move, Callable[[int], None]], int]
"""Bring what changed into the new version: how many papers. Told how many after each batch."""


def migrate(
    move: Move,
    copy: Copy,
    compare: Callable[[], None],
    on_progress: Callable[[MigrationReport], None] = lambda _: None,
) -> MigrationReport:
    """Build, catch up, compare, swap. `compare` raises if the new version is not good enough to go live.

    After any error the old version serves as before, and the new one keeps what it has: the next try continues.
    """
    report, begun = MigrationReport(papers=move.counts()[0]), perf_counter()

    def tell(phase: Phase) -> None:
        report.phase, report.seconds = phase, perf_counter() - begun
        on_progress(report)

    def catch_up() -> int:
        def count(papers: int) -> None:
            report.copied += papers
            tell(report.phase)

        report.passes += 1
        return copy(move, count)

    tell("copying")
    with move.loading():
        changed = catch_up()
    tell("catching up")
    while changed > SMALL and report.passes < PASSES:
        changed = catch_up()
    tell("comparing")
    report.deleted += drop_surplus(move)
    compare()
    tell("swapping")
    with move.hold_writes():
        held = perf_counter()
        catch_up()
        report.deleted += drop_surplus(move)
        report.papers = check_counts(move)
        move.swap()
        report.held = perf_counter() - held
    tell("done")
    return report


def drop_surplus(move: Move) -> int:
    """Delete what was deleted. After a pass the new version has every paper of the old one, so equal counts say that
    there is nothing to delete, and nobody need look through all ids."""
    old, new = move.counts()
    return sum(move.new.delete(ids) for ids in move.surplus()) if old != new else 0


def check_counts(move: Move) -> int:
    old, new = move.counts()
    if old != new:
        raise StoreError(
            f"the old version has {old:,} papers and the new one {new:,}: nothing was swapped, the old one goes on "
            f"serving; run the same command again"
        )
    return new


def changed_papers(move: Move) -> Iterator[list[str]]:
    """Ids of what the new version does not have as the old one has it, in batches."""
    for page in move.changes():
        for start in range(0, len(page), BATCH):
            ids = page[start : start + BATCH]
            there, here = move.old.hashes(ids), move.new.hashes(ids)
            changed = [paper_id for paper_id, found in there.items() if here.get(paper_id) != found]
            if changed:
                yield changed


def take_over(move: Move, on_batch: Callable[[int], None]) -> int:
    """Copy papers with their vectors: for the same model in another layout. Reading runs ahead of writing."""
    copied = 0
    with ReadAhead(_encoded(move), ahead=2) as batches:
        for papers in batches:
            written = move.new.write(papers)
            copied += written
            on_batch(written)
    return copied


def _encoded(move: Move) -> Iterator[list[EncodedPaper]]:
    for ids in changed_papers(move):
        papers = list(move.old.get(ids).values())
        if papers:  # those that are gone since are not missed
            yield papers


def encode_again(encoder: PaperEncoder) -> Copy:
    """Copy papers and make their vectors anew, by another model."""

    def copy(move: Move, on_batch: Callable[[int], None]) -> int:
        written = 0

        def progress(report: IngestReport) -> None:
            nonlocal written
            on_batch(report.written - written)
            written = report.written

        # A paper that the old version has and the new one refuses must not get lost: it ends the migration.
        report = ingest(_papers(move), encoder, move.new, on_reject=_refuse, on_progress=progress, strict=True)
        if report.interrupted:
            raise KeyboardInterrupt
        return report.written

    return copy


def _papers(move: Move) -> Iterator[Paper]:
    for ids in changed_papers(move):
        for encoded in move.old.get(ids).values():
            yield encoded.paper


def _refuse(error: RecordError) -> NoReturn:
    raise StoreError(f"the new version refuses {error.where}: {error.reason}; nothing was swapped") from error
