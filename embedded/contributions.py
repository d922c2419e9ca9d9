"""What each feature of a query adds to the scores of papers that have it; every sparse channel is a sum of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sciret.embedded.catalogue import Snapshot
from sciret.embedded.postings import read
from sciret.encoders.lexical import Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Contribution:
    """What one feature adds to the scores of the papers that have it."""

    term: str
    positions: Integers  # [m] ascending
    scores: Floats  # [m]


def live_postings(snapshot: Snapshot, channel: str, feature: str) -> tuple[Integers, Floats]:
    """Positions of the live papers that have a feature, ascending, and its weight in each."""
    postings = read(snapshot.connection, channel, feature)
    positions = snapshot.catalogue.positions[postings["num"]]
    weights = postings["weight"].astype(np.float64)
    alive = positions >= 0
    return (positions, weights) if alive.all() else (positions[alive], weights[alive])  # [m], [m]


def total(contributions: Sequence[Contribution], papers: int) -> Floats:
    """The scores of all papers."""
    scores = np.zeros(papers)
    for each in contributions:
        np.add.at(scores, each.positions, each.scores)
    return scores  # [n]


def matrix(contributions: Sequence[Contribution], positions: Integers) -> Floats:
    """The contributions to the scores of these papers only."""
    cells = np.zeros((len(positions), len(contributions)))
    for column, each in enumerate(contributions):
        if not len(each.positions):
            continue
        places = np.searchsorted(each.positions, positions)
        places[places == len(each.positions)] = 0
        found = each.positions[places] == positions
        cells[found, column] = each.scores[places[found]]
    return cells  # [len(positions), terms]
