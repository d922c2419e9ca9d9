"""LateEncoder: a search by a paper uses its stored vectors, so the model is loaded only when a text needs it."""

from __future__ import annotations

from functools import cached_property

from sciret.encoded import EncodedQuery
from sciret.encoders.encoder import Encoder
from sciret.settings import Settings


class LateEncoder:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder.open(self._settings.model, device=self._settings.device, threads=self._settings.threads)

    def encode_query(self, text: str) -> EncodedQuery:
        return self._encoder.encode_query(text)
