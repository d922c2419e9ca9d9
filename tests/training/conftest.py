"""Small language models of real architectures, made here and saved as transformers saves them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoModel, AutoModelForMaskedLM, PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from sciret.training.configuration import CasperTraining

from .tiny_runs import PAPERS, QUERIES, TOPICS, TRIPLETS, Configure

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TEXT = """
the of in and we show that a model study new results data large small deep neural network networks graph protein cell
cells gene genes brain sleep memory river flood climate ocean coral reef steel fatigue crack optical fibre laser quantum
error correction code galaxy star dust vaccine immune response infant speech music bird song peat bog soil carbon
"""
SIZE: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 66,
    "pad_token_id": 0,
}
DISTILBERT = {
    "hidden_size": "dim",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "intermediate_size": "hidden_dim",
}
Make = Callable[..., Path]
WriteJsonl = Callable[[str, Iterable[Mapping[str, Any]]], Path]


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """Common words whole, the others letter by letter."""
    letters = [f"{prefix}{letter}" for prefix in ("", "##") for letter in "abcdefghijklmnopqrstuvwxyz"]
    vocabulary = {
        piece: number for number, piece in enumerate((*SPECIAL, *dict.fromkeys(TEXT.split() + letters), ".", ","))
    }
    tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token=SPECIAL[1]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {f"{name[1:-1].lower()}_token": name for name in SPECIAL}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)  # type: ignore[no-untyped-call]


def tiny_network(architecture: str, kind: type = AutoModelForMaskedLM, **changed: Any) -> PreTrainedModel:
    """Random weights: large enough for texts to differ."""
    names = DISTILBERT if architecture == "distilbert" else {}
    given = {"vocab_size": len(tiny_tokenizer()), **SIZE, **changed}
    torch.manual_seed(0)
    config = CONFIG_MAPPING[architecture](**{names.get(name, name): value for name, value in given.items()})
    network: PreTrainedModel = kind.from_config(config)  # type: ignore[attr-defined]
    with torch.no_grad():
        for weight in network.parameters():
            if weight.dim() > 1:
                weight.normal_(std=0.15)
    return network


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Matrices of 32 columns are not worth sharing out, and waiting threads take the cores from other tests."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A function that saves a checkpoint of an architecture, with or without its MLM head, and returns its folder."""

    def make(architecture: str, head: bool = True, **changed: Any) -> Path:
        folder = tmp_path_factory.mktemp(architecture)
        tiny_network(architecture, AutoModelForMaskedLM if head else AutoModel, **changed).save_pretrained(folder)
        tiny_tokenizer().save_pretrained(folder)
        return folder

    return make


@pytest.fixture
def write_jsonl(tmp_path: Path) -> WriteJsonl:
    def write(name: str, rows: Iterable[Mapping[str, Any]]) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


@pytest.fixture
def configure(checkpoints: Make, write_jsonl: WriteJsonl, tmp_path: Path) -> Configure:
    """A configuration for eight triplets, with changes."""
    singular = [word for word in TEXT.split() if not word.endswith("s")]  # plurals are the same keyphrase
    papers, triplets = write_jsonl("papers.jsonl", PAPERS), write_jsonl("triplets.jsonl", TRIPLETS)
    (tmp_path / "keyphrases.txt").write_text("\n".join(dict.fromkeys([*TOPICS, *QUERIES, *singular])), encoding="utf-8")
    base = CasperTraining(
        model=str(checkpoints("bert", hidden_dropout_prob=0.1)),
        papers=(str(papers),),
        triplets=str(triplets),
        keyphrases=str(tmp_path / "keyphrases.txt"),
        steps=6,
        batch=4,
        rate=3e-3,
        warmup=2,
        flops_steps=4,
        query_flops=1e-3,
        document_flops=1e-3,
        log_every=1,
        evaluate_every=2,
        checkpoint_every=2,
        query_length=12,
        document_length=24,
        active_keyphrases=16,
        keyphrase_bias=0.0,
    )
    return lambda **changes: replace(base, **changes)
