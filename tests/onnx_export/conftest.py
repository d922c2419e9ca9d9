"""Checkpoints of real architectures, small and random, saved as transformers saves them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SIZE: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 66,
    "pad_token_id": 0,
}
DISTILBERT = {"hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads"}
Make = Callable[..., Path]


def tiny_tokenizer() -> Tokenizer:
    """Letters as wordpieces: any text becomes many tokens, so that long texts are truncated."""
    pieces = [f"{prefix}{letter}" for prefix in ("", "##") for letter in "abcdefghijklmnopqrstuvwxyz"]
    vocabulary = {piece: number for number, piece in enumerate((*SPECIAL, *pieces, ".", ","))}
    tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def tiny_network(architecture: str) -> PreTrainedModel:
    names = DISTILBERT if architecture == "distilbert" else {}
    size = {names.get(name, name): value for name, value in SIZE.items()}
    torch.manual_seed(0)
    return AutoModel.from_config(CONFIG_MAPPING[architecture](**size)).eval()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Make:
    """A function that saves a checkpoint of an architecture and returns its folder."""

    def make(architecture: str = "bert") -> Path:
        folder = tmp_path / f"{architecture}-checkpoint"
        tiny_network(architecture).save_pretrained(folder)
        tokenizer = tiny_tokenizer()
        tokenizer.enable_padding(length=8)  # encoders pad for themselves: an export must take this off
        tokenizer.enable_truncation(8)
        tokens = {f"{name[1:-1].lower()}_token": name for name in SPECIAL}
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **tokens).save_pretrained(folder)
        return folder

    return make
