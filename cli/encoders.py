"""The encoders that settings name. None is loaded before a text needs it: a search by a paper has its vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sciret.settings import Settings

if TYPE_CHECKING:
    from sciret.encoders.choice import EncoderChoice


def encoders_of(settings: Settings) -> EncoderChoice:
    from sciret.encoders.choice import EncoderChoice

    return EncoderChoice(settings.models, device=settings.device, threads=settings.threads)
