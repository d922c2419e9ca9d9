"""Checkpoints of real architectures, small and random, saved as transformers saves them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from sciret.encoders.bundle import Bundle
from sciret.onnx_export.export import export_bundle

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SIZE: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "num_hidden_layers": 1,
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
    tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token=SPECIAL[1]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def tiny_network(architecture: str, kind: Any = AutoModel, **changed: int) -> PreTrainedModel:
    names = DISTILBERT if architecture == "distilbert" else {}
    size = {names.get(name, name): value for name, value in {**SIZE, **changed}.items()}
    torch.manual_seed(0)
    config = CONFIG_MAPPING[architecture](**size)
    network: PreTrainedModel = kind.from_config(config)
    with torch.no_grad():
        for weight in network.parameters():  # as if trained: no two alike, and large enough for texts to differ
            weight.normal_(std=0.3)
    return network


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Matrices of 32 columns are not worth sharing out, and waiting threads take the cores from other tests."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def quiet(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Exporters print, warn and configure the root logger; around a test, none of it may reach the caller."""
    before = (logging.root.handlers[:], logging.root.level, logging.root.manager.disable)
    yield
    assert (logging.root.handlers, logging.root.level, logging.root.manager.disable) == before
    assert capfd.readouterr() == ("", "")


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A function that saves a checkpoint of an architecture and returns its folder."""

    def make(architecture: str, kind: Any = AutoModel, **changed: int) -> Path:
        folder = tmp_path_factory.mktemp(architecture)
        tiny_network(architecture, kind, **changed).save_pretrained(folder)
        tokenizer = tiny_tokenizer()
        tokenizer.enable_padding(length=8)  # encoders pad for themselves: an export must take this off
        tokenizer.enable_truncation(8)
        tokens = {f"{name[1:-1].lower()}_token": name for name in SPECIAL}
        fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **tokens)  # type: ignore[no-untyped-call]
        fast.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def source(checkpoints: Make) -> Path:
    return checkpoints("bert")


@pytest.fixture(scope="session")
def bundle(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Exported once for all tests; none of them changes it."""
    out = tmp_path_factory.mktemp("out") / "bundle"
    return export_bundle(str(source), out, name="tiny", licence="CC0-1.0", query_prefix="query: ", max_length=40)
