"""EncoderChoice: several bundles, of which the fingerprint of a store picks the one to encode by."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from sciret.encoders.bundle import load_bundle
from sciret.encoders.encoder import Encoder
from sciret.encoders.learned import BETA
from sciret.errors import SettingsError, WrongModelError


class EncoderChoice:
    """Bundles are read and models loaded when they are first needed, and kept. May be used by any thread."""

    def __init__(self, bundles: Sequence[str], *, device: str = "auto", threads: int = 0) -> None:
        self._unread = [name.strip() for name in bundles if name.strip()]
        if not self._unread:
            raise SettingsError("no model is named: give --model a bundle, or leave it out")
        self._device, self._threads = device, threads
        self._names: dict[str, str] = {}
        """Fingerprint to bundle, in the order given."""
        self._betas: dict[str, float] = {}
        self._encoders: dict[str, Encoder] = {}
        self._lock = Lock()

    def for_model(self, fingerprint: str | None) -> Encoder:
        """A bundle is not even looked at while one before it is the right one. A store without a model takes the
        first."""
        with self._lock:
            found = self._find(fingerprint)
            if found not in self._encoders:
                encoder = Encoder.open(self._names[found], device=self._device, threads=self._threads)
                self._encoders[found] = encoder
            return self._encoders[found]

    def beta(self, fingerprint: str) -> float:
        """What a keyphrase counts beside a token, as the bundle says. The model is not loaded for it."""
        with self._lock:
            self._find(fingerprint)
            return self._betas[fingerprint]

    def read(self) -> None:
        """All bundles, so that a name that stands for none is an error now and not after hours of work."""
        with self._lock:
            while self._unread:
                self._read_next()

    def _find(self, fingerprint: str | None) -> str:
        while self._unread and (not self._names or (fingerprint and fingerprint not in self._names)):
            self._read_next()
        first = next(iter(self._names))
        if fingerprint and fingerprint not in self._names:
            raise WrongModelError("the store", fingerprint, first)
        return fingerprint or first

    def _read_next(self) -> None:
        name = self._unread[0]
        bundle = load_bundle(name)
        self._names.setdefault(bundle.fingerprint, name)
        self._betas.setdefault(bundle.fingerprint, bundle.sparse.beta if bundle.sparse else BETA)
        self._unread.pop(0)
