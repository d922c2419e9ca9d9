"""The head of CASPER for a graph: both decoders at content positions only, and the maximum before the logarithm."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from sciret.encoders.bundle import Sparse
from sciret.errors import BundleError
from sciret.onnx_export.checkpoint import Checkpoint, SparseHead
from sciret.onnx_export.silence import silence
from sciret.training.backbone import Backbone, FittedEncoder, MaskedLanguageModel, plain
from sciret.training.casper import Casper
from sciret.training.casper_folder import MODEL, open_casper
from sciret.training.sparsity import Pooling

TOLERANCE = 1e-4


class CasperHead(nn.Module):
    """States of the network to weights of wordpieces and keyphrases."""

    def __init__(self, casper: Casper, tokens: int) -> None:
        """`tokens`: how many the tokenizer has; a network may have embeddings for more."""
        super().__init__()
        backbone = casper.backbone
        self.transform = backbone.transform if isinstance(backbone, FittedEncoder) else MaskedHead(backbone.network)
        self.tokens = Decoder(backbone.decoder, tokens, casper.shape.token_pooling)
        self.keyphrases = Decoder(casper.keyphrases, len(casper.keyphrases.bias), casper.shape.keyphrase_pooling)

    def forward(self, states: Tensor, input_ids: Tensor, content: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ARG002 (other heads count words)
        # states [B, L, d], input_ids [B, L], content [B, P] padded with -1 -> [B, V], [B, K]
        read = self.transform(at_content(states, content))  # [B, P, d]
        return self.tokens(read, content), self.keyphrases(read, content)


class Decoder(nn.Module):
    """Pooled log(1 + relu(logit)). The matrix is kept as the product needs it, so that it can be quantized."""

    def __init__(self, layer: nn.Linear, rows: int, pooling: Pooling) -> None:
        super().__init__()
        self.pooling = pooling
        self.matrix = nn.Parameter(layer.weight.detach()[:rows].T.contiguous())  # [d, N]
        bias = torch.zeros(rows) if layer.bias is None else layer.bias.detach()[:rows]
        self.raised = nn.Parameter(bias + 1)

    def forward(self, read: Tensor, content: Tensor) -> Tensor:
        # read [B, P, d], content [B, P] -> [B, N]
        there = (content >= 0).to(read.dtype)  # [B, P]
        if self.pooling == "max":
            # What pads is the first position again, which changes no maximum; a text without any has no weights.
            return saturated(highest(read, self.matrix) + self.raised) * there.amax(dim=1, keepdim=True)
        return torch.bmm(there[:, None], saturated(read @ self.matrix + self.raised))[:, 0]


def saturated(raised: Tensor) -> Tensor:
    """log(1 + relu(logit)) of logits that 1 was added to, with their bias: two passes over the largest thing there is,
    where the formula as it is written takes three."""
    return torch.log(raised.clamp(min=1))


def highest(read: Tensor, matrix: Tensor) -> Tensor:
    """Largest product [B, N] of the positions' states [B, P, d] with each column [d, N].

    Positions come first: onnxruntime takes a maximum over the first axis a little sooner than over another.
    """
    return (read.transpose(0, 1) @ matrix).amax(dim=0)


def at_content(states: Tensor, content: Tensor) -> Tensor:
    """States [B, L, d] at positions [B, P]; where it is -1, those of the text's first position again: [B, P, d]."""
    places = torch.where(content < 0, content[:, :1], content).clamp(min=0)
    return states.gather(1, places[:, :, None].expand(-1, -1, states.shape[-1]))


class MaskedHead(nn.Module):
    """What a masked language model does between its encoder and its decoder, whatever the architecture.

    The encoder inside is replaced by one that gives back what it is given.
    """

    def __init__(self, network: PreTrainedModel) -> None:
        super().__init__()
        setattr(network, network.base_model_prefix, _Given())
        self.network = network

    def forward(self, states: Tensor) -> Tensor:
        read: Tensor = self.network(inputs_embeds=states).logits
        return read


class _Given(nn.Module):
    def forward(self, *_: Any, inputs_embeds: Tensor, **__: Any) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=inputs_embeds)  # type: ignore[arg-type]  # a FloatTensor to transformers


def load_casper(folder: Path) -> Checkpoint:
    """The network that `sciret train casper` made, taken apart into encoder and head."""
    found = open_casper(str(folder))
    casper, tokenizer = found.casper.eval(), plain(found.tokenizer)
    tokenizer.encode_special_tokens = False
    rows = max(tokenizer.get_vocab().values()) + 1
    ids = torch.arange(min(rows, 12))[None].repeat(2, 1)
    expected = [part.detach()[:, :rows] for part in casper(ids, torch.ones_like(ids))]
    content = torch.where(torch.isin(ids, casper.special), -1, torch.arange(ids.shape[1]))
    content = content.sort(dim=1, descending=True).values
    network = _encoder(casper.backbone)
    head = CasperHead(casper, rows)
    token_weights = np.ones(rows, np.float32)
    token_weights[casper.special.numpy()] = 0
    _check(network, head, (ids, content), expected, casper.special, folder)
    shape = casper.shape
    return Checkpoint(
        network,
        tokenizer,
        (folder.parent if folder.name == MODEL else folder).resolve().name,
        found.provenance,
        SparseHead(
            head,
            found.keyphrases,
            token_weights,
            np.ones(len(found.keyphrases), np.float32),
            Sparse(beta=shape.beta, mass=shape.mass, query_features=shape.query_features),
            max_length=shape.document_length,
        ),
    )


def _encoder(backbone: Backbone) -> PreTrainedModel:
    """A twin of the encoder with attention in the plain form, which exporters trace best and fusions know."""
    network = backbone.network
    if isinstance(backbone, MaskedLanguageModel):
        network = cast(PreTrainedModel, network.base_model)
    with silence():
        config = copy.deepcopy(network.config)
        twin: PreTrainedModel = AutoModel.from_config(config, attn_implementation="eager")  # type: ignore[no-untyped-call]
    twin.load_state_dict(network.state_dict(), strict=False)  # a pooler may be missing, which is not read from
    twin.eval()  # type: ignore[no-untyped-call]
    return twin


@torch.no_grad()
def _check(
    network: PreTrainedModel,
    head: CasperHead,
    texts: tuple[Tensor, Tensor],
    expected: list[Tensor],
    special: Tensor,
    folder: Path,
) -> None:
    """An architecture that cannot be taken apart like this is found out here, not by its users."""
    ids, content = texts
    states = network(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    tokens, keyphrases = head(states, ids, content)
    tokens = tokens.index_fill(1, special, 0)  # they are no features, which is for the graph to see to
    pairs = ((tokens, expected[0]), (keyphrases, expected[1]))
    worst = max(float((a - b).abs().max() / b.abs().max().clamp(min=1)) for a, b in pairs)
    if not worst <= TOLERANCE:
        raise BundleError(
            f"{folder}: a {network.config.model_type} whose head cannot be told from its encoder (weights differ by "
            f"{worst:g}); it cannot be exported"
        )
