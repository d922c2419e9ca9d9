"""SeenIds: which ids a run has taken. The one thing here that grows with the number of records."""

from __future__ import annotations

import hashlib


class SeenIds:
    """Keeps 8 bytes of hash an id (about 80 MB a million in all); two ids in a million collide once in 10^7 runs."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, record_id: str) -> bool:
        """Whether the id is new."""
        digest = hashlib.blake2b(record_id.encode(), digest_size=8, usedforsecurity=False).digest()
        before = len(self._hashes)
        self._hashes.add(int.from_bytes(digest, "big"))
        return len(self._hashes) > before
