"""The language model under CASPER: any transformers checkpoint, with its own head or with one fitted to it."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast

from sciret.errors import SettingsError

RARE = -1.5
"""Bias of a fitted decoder: most words stay below 0, where a word that was read has a logit of about 6."""


class States(nn.Module):
    """Stands where a network's decoder stood, so that the network gives what the decoder would have read."""

    bias = None  # transformers takes it from whatever module it is handed as the decoder

    def forward(self, states: Tensor) -> Tensor:
        return states


class MaskedLanguageModel(nn.Module):
    """A network that was pretrained with a head: the decoder is taken out of it and is the head's last layer here."""

    def __init__(self, network: PreTrainedModel) -> None:
        super().__init__()
        self.decoder = cast(nn.Linear, network.get_output_embeddings())  # type: ignore[no-untyped-call]  # [V, d], usually tied to the embeddings
        network.set_output_embeddings(States())  # type: ignore[no-untyped-call]
        self.network = network

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """States [B, L, d] that a decoder turns into logits."""
        states: Tensor = self.network(input_ids=ids, attention_mask=mask).logits
        return states

    def save(self, folder: Path) -> None:
        """As transformers saves it, decoder and all."""
        self.network.set_output_embeddings(self.decoder)  # type: ignore[no-untyped-call]
        try:
            self.network.save_pretrained(folder)
        finally:
            self.network.set_output_embeddings(States())  # type: ignore[no-untyped-call]


class FittedEncoder(nn.Module):
    """A network without a head, such as an embedding model: a linear map leads to its own word embeddings.

    `sciret.training.fitting` finds the map in closed form; until then its logits mean nothing.
    """

    def __init__(self, network: PreTrainedModel) -> None:
        super().__init__()
        words = cast(nn.Embedding, network.get_input_embeddings()).weight.detach()  # [V, d]
        for name, module in network.named_children():
            if name == "pooler":  # its output is not used, and a parameter without a gradient stops DDP
                module.requires_grad_(False)
        self.network = network
        self.transform = nn.Linear(words.shape[1], words.shape[1])
        self.decoder = nn.Linear(words.shape[1], words.shape[0])
        with torch.no_grad():
            self.decoder.weight.copy_(nn.functional.normalize(words, dim=1))
            self.decoder.bias.fill_(RARE)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """States [B, L, d] that a decoder turns into logits."""
        states: Tensor = self.transform(self.network(input_ids=ids, attention_mask=mask).last_hidden_state)
        return states

    def save(self, folder: Path) -> None:
        """The network alone; transform and decoder are among CASPER's own tensors."""
        self.network.save_pretrained(folder)


Backbone = MaskedLanguageModel | FittedEncoder


def load_backbone(source: str, kind: str | None = None) -> Backbone:
    """From a transformers folder or a hub name. `kind` says what a CASPER checkpoint was; without it the weights do."""
    with explained(source), quiet():
        if kind != "encoder":
            network, found = AutoModelForMaskedLM.from_pretrained(source, dtype=torch.float32, output_loading_info=True)
            if not found["missing_keys"]:
                return MaskedLanguageModel(network)
        return FittedEncoder(AutoModel.from_pretrained(source, dtype=torch.float32))


def longest(network: PreTrainedModel) -> int | None:
    """Tokens that a network has positions for. RoBERTa and its kin count them from the padding id + 1 on."""
    positions = getattr(network.config, "max_position_embeddings", None)
    for name, module in network.named_modules():
        if positions and isinstance(module, nn.Embedding) and name.endswith("position_embeddings"):
            return int(positions) - (0 if module.padding_idx is None else module.padding_idx + 1)
    return positions


def load_tokenizer(source: str) -> PreTrainedTokenizerFast:
    with explained(source), quiet():
        tokenizer = AutoTokenizer.from_pretrained(source, use_fast=True)  # type: ignore[no-untyped-call]
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise SettingsError(f"{source}: its tokenizer has no fast version (tokenizer.json), which training needs")
    return tokenizer


def plain(tokenizer: PreTrainedTokenizerFast) -> Tokenizer:
    """The tokenizer inside, which neither pads nor truncates, and reads a "[SEP]" in a text as text."""
    inside = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    inside.no_padding()
    inside.no_truncation()
    inside.encode_special_tokens = True
    return inside


@contextlib.contextmanager
def explained(source: str) -> Iterator[None]:
    """What cannot be loaded is the user's choice of a model, not a bug."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise SettingsError(
            f"{source}: no masked language model or encoder there ({reason}); give a folder that save_pretrained "
            f"of transformers wrote, or a name on the hub"
        ) from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """transformers tells of every weight that a file lacks; here that is expected and acted upon."""
    logger = logging.getLogger("transformers")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
