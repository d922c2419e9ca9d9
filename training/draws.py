"""Chance that can be repeated: every decision is a hash of the seed and of what is decided, never of the order of work.

So a run that was stopped and continued, or that reads its files in another order, decides the same.
"""

from __future__ import annotations

import hashlib
import random

_SCALE = 1 << 64


def draw(seed: int, *what: str) -> int:
    """64 bits."""
    text = "\0".join((str(seed), *what))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def share(seed: int, *what: str) -> float:
    """In 0..1."""
    return draw(seed, *what) / _SCALE


def generator(seed: int, *what: str) -> random.Random:
    return random.Random(draw(seed, *what))  # noqa: S311 (training data, no secret)
