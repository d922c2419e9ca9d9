"""One migration from the command line: models, versions, canaries and progress put together."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import click

from sciret.cli.batch import read_file
from sciret.cli.cluster import credentials_of, open_cluster
from sciret.cli.index_options import chosen_layout, warn_of_engine
from sciret.cli.output import warn
from sciret.connector.client import Client
from sciret.connector.migration import Migration, begin
from sciret.connector.versions import Version, read_versions
from sciret.encoders.bundle import Bundle, load_bundle, shipped
from sciret.encoders.choice import EncoderChoice
from sciret.encoders.encoder import Encoder
from sciret.encoders.learned import BETA
from sciret.errors import BundleError, SettingsError, StoreError, WrongModelError
from sciret.retrieval.canary import CanaryReport, Side, compare
from sciret.retrieval.migrate import MigrationReport, encode_again, migrate, take_over
from sciret.retrieval.queries import QueryEncoder, Question
from sciret.retrieval.search import SearchOptions
from sciret.settings import Settings, load_settings

LEAST_OVERLAP = {True: 0.9, False: 0.3}
"""For the same model: what is left is the chance in graphs of nearest neighbours; and for another one."""
MOST_LOST = 0.1
"""Share of titles that may find their paper no more."""
EVERY = 10.0
"""Seconds between two lines of progress."""


@dataclass(frozen=True, slots=True)
class Outcome:
    report: MigrationReport
    canaries: CanaryReport | None
    old: str
    new: str
    model: str | None
    encoded: bool
    """By another model; otherwise vectors were taken over."""


def run_migration(settings: Settings, given: Mapping[str, Any]) -> Outcome:
    with open_cluster(settings) as client:
        live = read_versions(client).live
        if live is None:
            raise StoreError(f"{client.address}: there is nothing to migrate: `sciret index create` makes a store")
        bundle = load_bundle(given["model"]) if given["model"] else None
        again = bundle is not None and bundle.fingerprint != live.model
        move = _begin(client, settings, live, bundle if again else None, given)
        try:
            return _run(move, settings, bundle, given, again=again)
        except KeyboardInterrupt:
            warn("nothing was swapped; the same command continues, `sciret index delete next` gives it up")
            raise
        finally:
            move.close()


def _begin(
    client: Client, settings: Settings, live: Version, bundle: Bundle | None, given: Mapping[str, Any]
) -> Migration:
    layout = chosen_layout(given, live.options)
    if bundle is None and layout == live.options and not given["rebuild"]:
        raise SettingsError(
            f"{live.index} has that model and layout already: give --model or an option of the layout that differs, "
            f"or --rebuild"
        )
    warn_of_engine(layout)
    return begin(
        client,
        credentials_of(settings),
        layout,
        model=bundle.fingerprint if bundle else live.model,
        model_name=bundle.name if bundle else live.meta.get("model_name"),
        dims=bundle.dims if bundle else live.meta.get("dims"),
    )


def _run(
    move: Migration, settings: Settings, bundle: Bundle | None, given: Mapping[str, Any], *, again: bool
) -> Outcome:
    encoder: Encoder | None = None
    if again:
        encoder = Encoder.open(given["model"], device=settings.device, threads=settings.threads)
    asked: list[CanaryReport] = []

    def look() -> None:
        if not move.counts()[0] or not (given["canary"] or given["canaries"]):
            return
        asked.append(ask_canaries(move, settings, encoder, given))
        least = given["min_overlap"] if given["min_overlap"] is not None else LEAST_OVERLAP[not again]
        asked[0].check(least, MOST_LOST)

    copy = encode_again(encoder) if encoder else take_over
    report = migrate(move, copy, look, Telling())
    model = bundle.fingerprint if bundle else move.old_version.model
    return Outcome(report, asked[0] if asked else None, move.old_version.index, move.new_version.index, model, again)


def ask_canaries(
    move: Migration, settings: Settings, encoder: Encoder | None, given: Mapping[str, Any]
) -> CanaryReport:
    """Titles, or the questions of a file. Where the old model is not at hand, its papers are asked with themselves."""
    questions = read_file(given["canary"]) if given["canary"] else None
    old = _old_encoder(move.old_version.model, settings, given["old_model"])
    if old is None and questions and any(each.text is not None for each in questions):
        raise SettingsError("the model of the live version is not at hand to ask it these questions: give --old-model")
    if old is None and questions is None:
        warn("the model of the live version is not at hand: canaries are papers instead of their titles (--old-model)")
        questions = [Question(paper_id, like=paper_id) for paper_id in move.sample(given["canaries"])]
    titles = questions is None
    asked = _titles(move, given["canaries"]) if questions is None else questions
    sides = Side(move.old, old or _NoEncoder()), Side(move.new, encoder or old or _NoEncoder())
    return compare(asked, *sides, SearchOptions(), titles=titles)


def _titles(move: Migration, count: int) -> Sequence[Question]:
    papers = move.old.get(move.sample(count))
    return [Question(paper_id, encoded.paper.title) for paper_id, encoded in papers.items()]


def _old_encoder(model: str | None, settings: Settings, named: str | None) -> QueryEncoder | None:
    """The one that is named, or that settings name, or that ships with sciret."""
    if model is None:
        return None
    names = [named] if named else list(dict.fromkeys((*load_settings().models, *shipped())))
    try:
        return EncoderChoice(names, device=settings.device, threads=settings.threads).for_model(model)
    except (WrongModelError, BundleError):
        if named:
            raise
        return None


class _NoEncoder:
    """For questions that are papers: their vectors are stored."""

    beta = BETA

    def encode_query(self, text: str) -> Any:
        raise StoreError(f"no model is at hand to encode {text!r}")


class Telling:
    """A line at every new phase, and every ten seconds while papers are copied. On stderr."""

    def __init__(self) -> None:
        self._phase: str | None = None
        self._last = perf_counter()

    def __call__(self, report: MigrationReport) -> None:
        if report.phase == "done":
            return
        if report.phase == self._phase and perf_counter() - self._last < EVERY:
            return
        self._phase, self._last = report.phase, perf_counter()
        click.echo(f"sciret: {report.phase}: {report.copied:,} of {report.papers:,} papers", file=sys.stderr)
