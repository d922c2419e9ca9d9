"""EncoderChoice: several bundles, of which the fingerprint of a store picks the one to encode queries by."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from sciret.encoders.bundle import load_bundle
from sciret.encoders.encoder import Encoder
from sciret.errors import WrongModelError


class EncoderChoice:
    """Bundles are read and models loaded when they are first needed, and kept. May be used by any thread."""

    def __init__(self, bundles: Sequence[str], *, device: str = "auto", threads: int = 0) -> None:
        self._unread = list(bundles)
        self._device, self._threads = device, threads
        self._names: dict[str, str] = {}
        """Fingerprint to bundle."""
        self._encoders: dict[str, Encoder] = {}
        self._lock = Lock()

    def for_model(self, fingerprint: str) -> Encoder:
        """In the order given: a bundle is not even looked at while one before it is the right one."""
        with self._lock:
            if fingerprint not in self._encoders:
                name = self._find(fingerprint)
                self._encoders[fingerprint] = Encoder.open(name, device=self._device, threads=self._threads)
            return self._encoders[fingerprint]

    def _find(self, fingerprint: str) -> str:
        while fingerprint not in self._names and self._unread:
            name = self._unread.pop(0)
            self._names[load_bundle(name).fingerprint] = name
        if fingerprint not in self._names:
            raise WrongModelError("the store", fingerprint, next(iter(self._names), ""))
        return self._names[fingerprint]
