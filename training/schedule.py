"""Which triplets make up batch number n: a function of seed and number, so that a run can go on from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sciret.errors import SettingsError
from sciret.training.corpus import Ints
from sciret.training.prepared import Prepared


class Schedule:
    """Passes over the rows of a split, each in an order of its own. A source of weight 2 is seen twice in a pass, one
    of weight 0.5 half (another half each time), one of weight 0 never."""

    def __init__(self, rows: Ints, sources: npt.NDArray[np.uint8], weights: npt.NDArray[np.float64], seed: int) -> None:
        self._groups = [(rows[sources[rows] == number], float(w)) for number, w in enumerate(weights) if w > 0]
        self._seed = seed
        self.size = sum(int(weight * len(group)) for group, weight in self._groups)
        self._pass = (-1, rows)

    def order(self, number: int) -> Ints:
        """The rows [size] of a pass."""
        if self._pass[0] != number:
            generator = np.random.default_rng([self._seed, number])
            drawn = [self._drawn(group, weight, generator) for group, weight in self._groups]
            self._pass = (number, generator.permutation(np.concatenate(drawn)))
        return self._pass[1]

    def _drawn(self, group: Ints, weight: float, generator: np.random.Generator) -> Ints:
        whole, rest = divmod(int(weight * len(group)), max(1, len(group)))
        return np.concatenate([np.tile(group, whole), generator.choice(group, rest, replace=False)])

    def batch(self, number: int, size: int) -> tuple[Ints, int]:
        """The rows [size] of a batch, and the pass that it belongs to. What does not fill a batch is left out."""
        batches = self.size // size
        if not batches:
            raise SettingsError(
                f"{self.size} training triplets are fewer than one batch of {size}; take a smaller batch, "
                f"or mine more of them"
            )
        passed, place = divmod(number, batches)
        return self.order(passed)[place * size : (place + 1) * size], passed


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A batch by numbers: B triplets with N negatives each."""

    rows: Ints  # [B]
    positives: Ints  # [B]
    negatives: Ints  # [B, N]
    weights: npt.NDArray[np.float32]  # [B]
    scores: npt.NDArray[np.float32]  # [B, 1 + N] NaN: not given


def draw(data: Prepared, rows: Ints, negatives: int, seed: int, passed: int) -> Drawn:
    """Each triplet with some of its negatives, others in each pass. Where it has too few, any papers fill up: they are
    negatives all the same, only easy ones."""
    chosen = np.empty((len(rows), negatives), dtype=np.int64)
    scores = np.full((len(rows), 1 + negatives), np.nan, dtype=np.float32)
    for place, row in enumerate(rows.tolist()):
        generator = np.random.default_rng([seed, passed, row])
        first, end = int(data.starts[row]), int(data.starts[row + 1])
        own = generator.permutation(np.arange(first, end))[:negatives]
        chosen[place, : len(own)] = data.negatives[own]
        chosen[place, len(own) :] = generator.integers(len(data.papers), size=negatives - len(own))
        scores[place, 0] = data.scores[first + row]
        scores[place, 1 : 1 + len(own)] = data.scores[own + row + 1]
    return Drawn(rows, data.positives[rows].astype(np.int64), chosen, data.weights[rows], scores)


def source_weights(data: Prepared, given: Mapping[str, float]) -> npt.NDArray[np.float64]:
    """[S] the weight of each source: 1 where none is given."""
    unknown = given.keys() - set(data.names)
    if unknown:
        raise SettingsError(
            f"no source {', '.join(sorted(unknown))} among the triplets; there are {', '.join(data.names)}"
        )
    if any(weight < 0 for weight in given.values()) or all(given.get(name, 1.0) == 0 for name in data.names):
        raise SettingsError("weights of sources are not negative, and one at least is above 0")
    return np.array([given.get(name, 1.0) for name in data.names])
