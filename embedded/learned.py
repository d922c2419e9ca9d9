"""CASPER over the postings of the query's features; the formulas are `encoders.learned`'s."""

from __future__ import annotations

from collections.abc import Sequence

from sciret.embedded.catalogue import Snapshot
from sciret.embedded.contributions import Contribution, live_postings
from sciret.embedded.postings import KEYPHRASES, TOKENS
from sciret.encoders.learned import Projection


def contributions(snapshot: Snapshot, query: Projection) -> Sequence[Contribution]:
    """One for each feature of the query, tokens first. Those that no paper has are among them, so that a sum has the
    same terms in the same order here as in any other store."""
    named = [*((TOKENS, name) for name in query.tokens), *((KEYPHRASES, name) for name in query.keyphrases)]
    found: list[Contribution] = []
    for (channel, name), factor in zip(named, query.factors.tolist(), strict=True):
        positions, weights = live_postings(snapshot, channel, name)
        found.append(Contribution(name, positions, factor * weights))
    return found
