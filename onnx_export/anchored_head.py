"""The anchored head for a graph: everything that training learned of it, as constants beside two matrix products."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from sciret.encoders.bundle import Sparse
from sciret.errors import BundleError, SettingsError
from sciret.onnx_export.casper_head import at_content, highest, saturated
from sciret.onnx_export.checkpoint import Checkpoint, SparseHead
from sciret.training.anchored import AnchoredHead
from sciret.training.train_anchored import open_head


class AnchoredGraph(nn.Module):
    """`AnchoredHead.forward` with its matrices as the products need them, so that they can be quantized."""

    def __init__(self, head: AnchoredHead) -> None:
        super().__init__()
        self.head = head
        self.words = nn.Parameter(head.words.T.contiguous())  # [d, V]
        self.phrases = nn.Parameter(head.phrases.detach().T.contiguous())  # [d, K]
        self.token_raised = nn.Parameter(head.token_bias.detach() + 1)
        self.phrase_raised = nn.Parameter(head.phrase_bias.detach() + 1)
        self.token_root = nn.Parameter(head.token_root().detach())
        self.token_scale = nn.Parameter((head.token_gain * head.token_root()).detach())
        self.phrase_scale = nn.Parameter((head.phrase_gain * head.phrase_root()).detach())
        self.pooling = head.pooling

    def forward(self, states: Tensor, input_ids: Tensor, content: Tensor) -> tuple[Tensor, Tensor]:
        # states [B, L, d], input_ids [B, L], content [B, P] padded with -1 -> [B, V], [B, K]
        real = content >= 0  # [B, P]
        there = real.to(states.dtype)
        any_ = there.amax(dim=1, keepdim=True)  # [B, 1]
        x = self.head.read(at_content(states, content))  # [B, P, d]
        # What pads is the first position again, which changes no maximum.
        expansion = saturated(highest(x, self.words) + self.token_raised)  # [B, V]
        tokens = self.head.anchor(input_ids.gather(1, content.clamp(min=0)), real) * self.token_root
        tokens = tokens + expansion * self.token_scale * any_
        if self.pooling == "sum":
            phrases = torch.bmm(there[:, None], saturated(x @ self.phrases + self.phrase_raised))[:, 0]
        else:
            phrases = saturated(highest(x, self.phrases) + self.phrase_raised) * any_
        return tokens, phrases * self.phrase_scale


def load_anchored(folder: Path, backbone: Checkpoint | None) -> Checkpoint:
    """The head that `sciret train anchored` made, on the network that it was trained on."""
    if backbone is None:
        raise SettingsError(f"{folder}: a head without its encoder; name the checkpoint that it is for with --backbone")
    head, keyphrases, description = open_head(folder)
    rows, dims = head.words.shape
    size = int(backbone.network.config.hidden_size)
    if (rows, dims) != (max(backbone.tokenizer.get_vocab().values()) + 1, size):
        raise BundleError(
            f"{folder}: the head is for {rows} wordpieces and states of {dims} numbers, which the backbone has not; "
            f"give the checkpoint that the bundle of its training was exported from"
        )
    settings = Sparse(
        beta=description["beta"],
        mass=description["mass"],
        query_features=description["query_features"],
        query_tokens="both",
        query_keyphrases="encoded",
    )
    return Checkpoint(
        backbone.network,
        backbone.tokenizer,
        backbone.name,
        {**backbone.provenance, "head": description["provenance"]},
        SparseHead(
            AnchoredGraph(head.eval()),
            tuple(keyphrases),
            head.token_root().detach().numpy(),
            head.phrase_root().detach().numpy(),
            settings,
            vectors=True,
        ),
    )
