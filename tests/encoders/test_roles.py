"""Roles are the likeliest sequence, and a stored classifier gives the same ones."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from sciret.encoders.roles import POSITIONS, RoleClassifier, features
from sciret.errors import BundleError

NAMES = ("background", "method", "result")
DIMS = 4


def classifier(seed: int = 0) -> RoleClassifier:
    chance = np.random.default_rng(seed)
    shapes = ((3 * DIMS + POSITIONS, len(NAMES)), (len(NAMES),), (len(NAMES), len(NAMES)))
    weights, bias, transitions = (chance.normal(size=shape).astype(np.float32) for shape in shapes)
    return RoleClassifier(NAMES, np.full(DIMS, 0.5, dtype=np.float32), weights, bias, transitions)


def vectors(count: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.random.default_rng(seed).normal(size=(count, DIMS)).astype(np.float32)


@pytest.mark.parametrize("seed", range(5))
def test_prediction_is_the_best_of_all_sequences(seed: int) -> None:
    """Against trying every sequence of roles."""
    model, given = classifier(seed), vectors(5, seed)
    fit = features(given, model.scale) @ model.weights + model.bias

    def score(path: tuple[int, ...]) -> float:
        steps = sum(model.transitions[a, b] for a, b in pairwise(path))
        return float(sum(fit[place, role] for place, role in enumerate(path)) + steps)

    best = max(product(range(len(NAMES)), repeat=5), key=score)
    assert model.predict(given) == tuple(NAMES[role] for role in best)


@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_one_role_a_sentence(count: int) -> None:
    """Also for a title alone, and for nothing."""
    assert len(classifier().predict(vectors(count))) == count


def test_the_topic_of_an_abstract_does_not_matter() -> None:
    """The same shift of all its vectors leaves every feature as it was."""
    scale = classifier().scale
    moved = vectors(6) + np.array([3, -1, 0, 2], dtype=np.float32)
    assert features(moved, scale) == pytest.approx(features(vectors(6), scale), abs=1e-5)


def test_neighbours_and_position_are_seen() -> None:
    """The first sentence has no neighbour before it; the same sentence elsewhere looks different."""
    seen = features(vectors(3), classifier().scale)
    assert seen.shape == (3, 3 * DIMS + POSITIONS)
    own, before, after = seen[:, :DIMS], seen[:, DIMS : 2 * DIMS], seen[:, 2 * DIMS : 3 * DIMS]
    assert not before[0].any()
    assert not after[-1].any()
    assert (before[1:] == own[:-1]).all()
    assert (after[:-1] == own[1:]).all()
    assert len({tuple(row) for row in seen[:, 3 * DIMS :]}) == 3


def test_a_stored_classifier_gives_the_same_roles(tmp_path: Path) -> None:
    path = tmp_path / "roles.npz"
    classifier().save(path)
    loaded = RoleClassifier.load(path)
    assert loaded.roles == NAMES
    for seed in range(20):
        assert loaded.predict(vectors(8, seed)) == classifier().predict(vectors(8, seed))


def test_a_file_that_would_run_code_is_refused(tmp_path: Path) -> None:
    """Object arrays are pickles: never loaded from a bundle."""
    np.savez(tmp_path / "roles.npz", roles=np.array([object()], dtype=object))
    with pytest.raises(BundleError, match=r"python -m sciret\.training\.roles"):
        RoleClassifier.load(tmp_path / "roles.npz")


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "roles.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(BundleError, match="not a role classifier"):
        RoleClassifier.load(tmp_path / "roles.npz")
