"""`sciret search --queries`: every question of a file, into a TREC run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from sciret.cli.answer import settled
from sciret.cli.encoders import encoders_of
from sciret.cli.output import warn
from sciret.cli.stores import open_store
from sciret.errors import QueryError, SettingsError
from sciret.evaluation.runs import write_run
from sciret.retrieval.following import ask_following
from sciret.retrieval.queries import Question, read_questions
from sciret.retrieval.search import SearchOptions
from sciret.settings import Settings
from sciret.sources.stream import open_lines
from sciret.store import Store


@dataclass(slots=True)
class Tally:
    """What did not come out as asked."""

    failed: int = 0
    missing: int = 0
    """Candidates that were not ranked."""
    incomplete: int = 0
    """Queries that have such candidates."""


def run_batch(settings: Settings, options: SearchOptions, queries: str, out: str, tag: str) -> bool:
    """Whether every query was answered. The file is read and checked to its end before anything is searched."""
    questions = read_file(queries)
    tally, begun = Tally(), perf_counter()
    with open_store(settings, create=False) as store, replacing(Path(out)) as unfinished:
        write_run(unfinished, answers(questions, settings, options, store, tally), tag)
    if tally.missing:
        warn(
            f"{tally.missing:,} candidates of {tally.incomplete:,} queries were not ranked: "
            f"the store does not have them, or they are not open (--access all)"
        )
    done = len(questions) - tally.failed
    warn(f"{done:,} of {len(questions):,} queries answered in {perf_counter() - begun:.1f} s, written to {out}")
    return not tally.failed


def read_file(name: str) -> Sequence[Question]:
    """A file, gzip or not, or - for stdin."""
    with open_lines(name) as lines:
        questions = list(read_questions((_text(line.data, f"{name}:{line.number}") for line in lines), name))
        if lines.broken:
            raise QueryError(f"{name}: {lines.broken}")
    if not questions:
        raise QueryError(f"{name}: no queries in it")
    seen: set[str] = set()
    for question in questions:
        if question.id in seen or any(character.isspace() for character in question.id):
            raise QueryError(
                f"{name}: the id {question.id!r} comes twice or holds white space; a run needs ids that differ"
            )
        seen.add(question.id)
    return questions


def _text(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise QueryError(f"{where}: not UTF-8 ({error}); convert the file") from error


def answers(
    questions: Sequence[Question], settings: Settings, options: SearchOptions, store: Store, tally: Tally
) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """A query that cannot be answered is reported and left out; the others still run."""
    encoders, options = encoders_of(settings), settled(options, settings, store)
    for question in _shown(questions):
        try:
            found = list(ask_following(question, encoders, store, options).scored_ids())
        except QueryError as error:
            warn(f"query {question.id}: {error}")
            tally.failed += 1
            continue
        missing = len(set(question.candidates or ()) - {paper_id for paper_id, _ in found})
        tally.missing += missing
        tally.incomplete += missing > 0
        yield question.id, found


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside the path, renamed to it at the end: a run that is there is whole. A device has no such name."""
    if not path.parent.is_dir():
        raise SettingsError(f"--run {path}: there is no folder {path.parent}; make it first")
    if path.exists() and not path.is_file():
        yield path
        return
    unfinished = path.with_name(path.name + ".part")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _shown(questions: Sequence[Question]) -> Iterable[Question]:
    """With a bar where someone watches."""
    if not sys.stderr.isatty():
        return questions
    from rich.console import Console
    from rich.progress import track

    return track(questions, description="", console=Console(stderr=True), transient=True)
