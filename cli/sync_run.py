"""One `sciret sync` from the command line, or one every so often: what changed, and what is gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

from sciret.cli.attach_run import Follower, connected, followed
from sciret.cli.ingest_run import Outcome
from sciret.cli.output import warn
from sciret.connector.address import Address
from sciret.connector.attachment import Attachment, Progress, load_attachment
from sciret.connector.client import Client
from sciret.connector.existing import inspect
from sciret.connector.following import Pass
from sciret.connector.identity import InPlaceError, find_identity
from sciret.connector.order import Order
from sciret.connector.reconcile import reconcile
from sciret.errors import StoreError, WrongModelError
from sciret.settings import Settings


@dataclass(frozen=True, slots=True)
class Wish:
    """What to follow, and how."""

    into: Address
    source: Address | None
    """None: the index that the store was attached to."""
    by: str
    overlap: str | None
    reconcile: bool
    max_deletions: float
    """In percent of the papers."""


def run_sync(
    wish: Wish,
    settings: Settings,
    rejects: str | None,
    every: float | None,
    on_pass: Callable[[Outcome], None],
) -> Outcome:
    """One pass, or with `every` (seconds from one beginning to the next) pass after pass until Ctrl-C."""
    settings = replace(settings, store=str(wish.into))
    with ExitStack() as stack:
        attachment, in_place = _attached(stack.enter_context(connected(wish.into, settings)), wish)
        source = stack.enter_context(connected(Address.parse(attachment.source), settings))
        order = Order.of(wish.by, inspect(source), wish.overlap)
        if without := order.without(source):
            warn(f"{without:,} documents have no {wish.by}, and are never seen to change; leave --by out to see them")
        follower = stack.enter_context(followed(settings, in_place=in_place))
        following = _Following(wish, source, order, follower, rejects, in_place)
        while True:
            begun = time.monotonic()
            outcome = following.once(forgiving=every is not None)
            if outcome:
                on_pass(outcome)
                if every is None or outcome.report.interrupted:
                    return outcome
            time.sleep(max(0.0, begun + (every or 0.0) - time.monotonic()))


def _attached(target: Client, wish: Wish) -> tuple[Attachment, bool]:
    in_place = False
    try:
        find_identity(target)
    except InPlaceError:
        in_place = True
    found = load_attachment(target)
    if found is None:
        raise StoreError(f"{wish.into} does not follow any index yet: `sciret attach --from … --title …` says which")
    return (replace(found, source=str(wish.source)) if wish.source else found), in_place


@dataclass(frozen=True, slots=True)
class _Following:
    wish: Wish
    source: Client
    order: Order
    follower: Follower
    rejects: str | None
    in_place: bool

    def once(self, *, forgiving: bool) -> Outcome | None:
        """None where the cluster could not be reached and there will be another time."""
        try:
            return self._once()
        except WrongModelError:
            raise  # it would be wrong the next time, too
        except StoreError as error:
            if not forgiving:
                raise
            warn(f"{error} (trying again at the next pass)")
            return None

    def _once(self) -> Outcome:
        store = self.follower.store
        attachment, _ = _attached(store.client, self.wish)
        if self.wish.reconcile:  # reads everything again, as far as it is new to the store
            attachment = attachment.advanced(self.order.field, Progress())
        outcome = self.follower.run(Pass(self.source, inspect(self.source), attachment, self.order), self.rejects)
        if self.wish.reconcile and not self.in_place and not outcome.report.interrupted:
            identity = find_identity(store.client)
            if identity:
                most = self.wish.max_deletions
                gone = reconcile(self.source, store.client, identity.index, store, most_percent=most)
                outcome.report.deleted += gone
        return outcome
