"""One step of pretraining: how well hidden wordpieces and keyphrases are guessed."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from sciret.training.casper import Casper
from sciret.training.masking import NOTHING
from sciret.training.processes import gather
from sciret.training.reading import Texts


class MaskedBatch(NamedTuple):
    texts: Texts
    original: Tensor  # [B, L] ids before anything was hidden
    words: Tensor  # [B, L] wordpieces to be guessed
    phrases: Tensor  # [B, L] keyphrases to be guessed

    def to(self, device: torch.device) -> MaskedBatch:
        return MaskedBatch(
            self.texts.to(device), *(part.to(device) for part in (self.original, self.words, self.phrases))
        )


class MaskedStep(nn.Module):
    """What DDP wraps. Wordpieces and keyphrases compete in one softmax, so that both come to the same scale."""

    def __init__(self, casper: Casper) -> None:
        super().__init__()
        self.casper = casper

    def forward(self, batch: MaskedBatch, share: float) -> dict[str, Tensor]:  # noqa: ARG002 (nothing is regularised)
        """`loss` is the mean over wordpieces plus the mean over keyphrases: the latter are fewer, but as important."""
        states = self.casper.backbone(*batch.texts)
        of_words, of_phrases = batch.words != NOTHING, batch.phrases != NOTHING
        words, phrases = batch.words[of_words], batch.phrases[of_phrases]
        known = batch.phrases[of_words]  # keyphrases that would be right where a wordpiece is asked for
        guessed = self._guess(states[of_words], words, self._column(known), known != NOTHING)
        named = self._guess(states[of_phrases], self._column(phrases), batch.original[of_phrases], phrases != NOTHING)
        sums = gather(torch.stack([*guessed, *named])[None]).sum(dim=0)  # over all processes
        loss_w, right_w, count_w, loss_p, right_p, count_p = sums.unbind()
        parts = {"words": loss_w / count_w.clamp(min=1), "phrases": loss_p / count_p.clamp(min=1)}
        loss = parts["words"] + parts["phrases"]
        shares = {"words_right": right_w / count_w.clamp(min=1), "phrases_right": right_p / count_p.clamp(min=1)}
        return {"loss": loss, "held_out": loss, **parts, **shares}

    def _column(self, phrases: Tensor) -> Tensor:
        """Where a keyphrase stands among wordpieces and keyphrases."""
        return (phrases + self.casper.backbone.decoder.out_features).clamp(min=0)

    def _guess(self, states: Tensor, wanted: Tensor, also: Tensor, is_right: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Sum of losses, number of right guesses and number of guesses; `also`, where it is right too, is left out."""
        logits = self.casper.logits(states).float()  # [M, V + K]
        excluded = torch.zeros_like(logits, dtype=torch.bool).scatter(1, also[:, None], is_right[:, None])
        logits = logits.masked_fill(excluded, -torch.inf)
        loss = functional.cross_entropy(logits, wanted, reduction="sum")
        right = (logits.argmax(dim=1) == wanted).sum().to(loss.dtype) if len(wanted) else loss.new_zeros(())
        return loss, right, loss.new_tensor(float(len(wanted)))
