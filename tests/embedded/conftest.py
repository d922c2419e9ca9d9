"""Small encoded papers by number, the same in every process."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sciret.encoded import EncodedPaper
from sciret.paper import Paper


@pytest.fixture
def paper() -> Callable[[int], EncodedPaper]:
    def make(number: int) -> EncodedPaper:
        vectors = np.random.default_rng(number).standard_normal((3, 8)).astype(np.float32)
        text = f"number {number} remainder{number % 7} common"
        return EncodedPaper(Paper(f"p{number}", text), "m", vectors[0], ("one", "two"), (), vectors[1:])

    return make
