"""Sentence roles from sentence vectors: background, objective, method, result or other. A linear chain, numpy only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from sciret.encoded import Vector
from sciret.errors import BundleError

BINS = 5
POSITIONS = 7 + BINS


def features(vectors: Vector, scale: Vector) -> Vector:
    """What the classifier sees of each sentence: [S, 3d + POSITIONS] from vectors [S, d] and their scale [d].

    The abstract's mean is taken away first: sentence vectors of one abstract share most of their direction, its
    topic, which says nothing about roles. What is left of the sentence, of the one before and of the one after is
    seen, and where in the abstract it stands.
    """
    own = (vectors - vectors.mean(axis=0)) / scale  # [S, d]
    none = np.zeros((1, own.shape[1]), dtype=np.float32)
    before, after = np.concatenate([none, own[:-1]]), np.concatenate([own[1:], none])
    return np.concatenate([own, before, after, _positions(len(own))], axis=1).astype(np.float32)


def _positions(count: int) -> Vector:
    place = np.arange(count, dtype=np.float32)  # [S]
    share = place / max(count - 1, 1)  # 0 for the first sentence, 1 for the last
    first, last = place == 0, place == count - 1
    length = np.full(count, count / 10, dtype=np.float32)
    smooth = np.stack([share, share**2, first, last, 1 / (place + 1), 1 / (count - place), length], axis=1)
    part = np.minimum((share * BINS).astype(int), BINS - 1)
    return np.concatenate([smooth, np.eye(BINS, dtype=np.float32)[part]], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class RoleClassifier:
    """A linear-chain model: how well each role fits each sentence, and how well roles follow each other."""

    roles: tuple[str, ...]  # R
    scale: Vector  # [d]
    weights: Vector  # [3d + POSITIONS, R]
    bias: Vector  # [R]
    transitions: Vector  # [R, R], from the role in the row to the one in the column

    @classmethod
    def load(cls, path: Path) -> RoleClassifier:
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name].astype(np.float32) for name in stored.files if name != "roles"}
                return cls(tuple(map(str, stored["roles"])), **arrays)
        except (OSError, ValueError, KeyError, TypeError, BadZipFile) as error:
            raise BundleError(
                f"{path}: not a role classifier ({error}); make it again with python -m sciret.training.roles"
            ) from error

    def save(self, path: Path) -> None:
        """As float16, which changes no role worth speaking of and keeps the file at some 10 kB."""
        arrays = {name: getattr(self, name).astype(np.float16) for name in ("weights", "bias", "transitions")}
        np.savez_compressed(path, roles=np.array(self.roles), scale=self.scale.astype(np.float32), **arrays)

    def predict(self, vectors: Vector) -> tuple[str, ...]:
        """The likeliest sequence of roles for an abstract's sentence vectors [S, d], one each."""
        if not len(vectors):
            return ()
        fit = features(vectors, self.scale) @ self.weights + self.bias  # [S, R]
        return tuple(self.roles[role] for role in _best_path(fit, self.transitions))


def _best_path(fit: Vector, transitions: Vector) -> list[int]:
    """Viterbi: the path through fit [S, R] with the largest sum of fits and transitions."""
    best, origins = fit[0], []
    for row in fit[1:]:
        ways = best[:, None] + transitions  # [R, R]
        origins.append(ways.argmax(axis=0))
        best = ways.max(axis=0) + row
    path = [int(best.argmax())]
    for origin in reversed(origins):
        path.append(int(origin[path[-1]]))
    return path[::-1]
