"""Which texts go through the graph together, and the arrays that they become."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from sciret.encoders.bundle import Precision
from sciret.encoders.text import Ints, ModelInput
from sciret.paper import Paper


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A paper on its way through the graph, with its place in the stream."""

    place: int
    paper: Paper
    input: ModelInput


@dataclass(frozen=True, slots=True)
class Plan:
    """Papers are sorted by length within a window, and grouped up to a number of tokens, padding included."""

    window: int
    tokens: int


# Dynamic int8 takes one activation scale for the whole batch: a paper's vectors would depend on its neighbours, so
# each paper is a batch of its own, which on CPUs is about as fast. In fp32 neighbours make a difference in the last
# bits only, and a GPU needs batches.
PLANS: dict[Precision, Plan] = {"int8": Plan(window=1, tokens=1), "fp32": Plan(window=128, tokens=4096)}
SPARSE_PLANS: dict[Precision, Plan] = {**PLANS, "fp32": Plan(window=128, tokens=512)}
"""A graph with a sparse head has a number for every feature at every token: half a gigabyte for 4,096 of them."""


def batches(items: Iterable[Item], plan: Plan) -> Iterator[Sequence[Item]]:
    """Groups of like length, so that little is padded. At most a window of items is held."""
    stream = iter(items)
    while window := list(islice(stream, plan.window)):
        window.sort(key=lambda item: len(item.input.ids), reverse=True)
        while window:
            # The first is the longest: it decides how many fit.
            size = max(1, plan.tokens // len(window[0].input.ids))
            yield window[:size]
            del window[:size]


def padded(inputs: Sequence[ModelInput]) -> dict[str, Ints]:
    """The graph's inputs; sentences that pad a shorter list are the empty span (0, 0)."""
    length = max(len(one.ids) for one in inputs)
    sentences = max(len(one.spans) for one in inputs)
    ids = np.zeros((len(inputs), length), dtype=np.int64)  # [B, L]; masked, so any id pads
    mask = np.zeros((len(inputs), length), dtype=np.int64)  # [B, L]
    spans = np.zeros((len(inputs), sentences, 2), dtype=np.int64)  # [B, S, 2]
    for row, one in enumerate(inputs):
        ids[row, : len(one.ids)] = one.ids
        mask[row, : len(one.ids)] = 1
        spans[row, : len(one.spans)] = one.spans
    return {"input_ids": ids, "attention_mask": mask, "spans": spans}


def content(inputs: Sequence[ModelInput], weighs: npt.NDArray[np.bool_]) -> Ints:
    """One more input of graphs that give sparse vectors: positions [B, P] of what weighs, padded with -1, P >= 1."""
    found = [one.content(weighs) for one in inputs]
    positions = no_content(len(inputs), max(1, *map(len, found)))
    for row, each in zip(positions, found, strict=True):
        row[: len(each)] = each
    return positions


def no_content(count: int, places: int = 1) -> Ints:
    """For texts whose sparse vectors are of no interest: a graph computes all its outputs, but then from next to
    nothing."""
    return np.full((count, places), -1, dtype=np.int64)
