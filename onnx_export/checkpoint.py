"""A checkpoint: network and tokenizer, from a transformers folder, a hub name, or the ONNX in a registry package."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoModel, AutoTokenizer, PreTrainedModel

from sciret.encoded import Vector
from sciret.encoders.bundle import Sparse, sha256
from sciret.errors import BundleError
from sciret.onnx_export.silence import silence

ARCHIVES = (".jar", ".zip", ".whl")
UNLIMITED = 8192
"""Tokens that may be read where a checkpoint counts no absolute positions."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseHead:
    """What gives a checkpoint sparse vectors."""

    module: nn.Module
    """`(states [B, L, d], input_ids [B, L], content [B, P]) -> (tokens [B, V], keyphrases [B, K])` of a paper; states
    are the network's last hidden ones, content positions that weigh, padded at the end with -1."""
    keyphrases: tuple[str, ...]  # K
    token_weights: Vector  # [V] of a query's; 0: no feature, and its positions are not among the content
    keyphrase_weights: Vector  # [K]
    settings: Sparse
    max_length: int | None = None
    """Tokens that it was trained to read, where these are fewer than the network has positions for."""
    vectors: bool = False
    """The network's own vectors are worth having, so they are exported too unless one says otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    network: PreTrainedModel
    tokenizer: Tokenizer
    """Neither pads nor truncates: the encoder decides both."""
    name: str
    provenance: Mapping[str, Any]
    sparse: SparseHead | None = None

    @property
    def max_length(self) -> int:
        """The longest text in tokens, special ones included, that the network has positions for."""
        positions = getattr(self.network.config, "max_position_embeddings", None)
        if positions is None:
            return UNLIMITED
        return int(positions) - _first_position(self.network, positions)


def load_checkpoint(source: str, backbone: str | None = None) -> Checkpoint:
    """Read a transformers folder, a `.onnx` file with its tokenizer beside it, an archive of both, or a hub name; or
    the folder of a sparse model, whose head may need the backbone that it was trained on."""
    from sciret.onnx_export.sparse_head import load_sparse

    checkpoint = load_sparse(source, None if backbone is None else load_checkpoint(backbone)) or _load(source)
    words, known = checkpoint.tokenizer.get_vocab_size(), checkpoint.network.get_input_embeddings().num_embeddings
    if words > known:
        raise BundleError(
            f"{source}: the tokenizer has {words} tokens, but the network has embeddings for {known}: "
            f"they do not belong together. Give network and tokenizer of the same checkpoint."
        )
    return checkpoint


def _load(source: str) -> Checkpoint:
    path = Path(source)
    if path.suffix in ARCHIVES and path.is_file():
        with tempfile.TemporaryDirectory() as folder:
            graph, tokenizer = _unpack(path, Path(folder))
            return _from_onnx(path, graph, tokenizer)
    if path.suffix == ".onnx" and path.is_file():
        beside = [p.name for p in path.parent.glob("*tokenizer.json")]
        return _from_onnx(path, path, path.parent / _only(beside, "*tokenizer.json", str(path.parent)))
    return _from_transformers(source)


def _from_transformers(source: str) -> Checkpoint:
    try:
        with silence():
            network = AutoModel.from_pretrained(source, attn_implementation="eager", dtype=torch.float32)
            tokenizer = AutoTokenizer.from_pretrained(source, use_fast=True)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise BundleError(
            f"{source}: no checkpoint there ({reason}). Give a transformers folder, a hub name, a .onnx file, "
            f"or a package ({', '.join(ARCHIVES)}) that holds one."
        ) from error
    if not tokenizer.is_fast:
        raise BundleError(f"{source}: its tokenizer has no fast version (tokenizer.json), which encoders need")
    if network.config.is_encoder_decoder:
        raise BundleError(f"{source}: a {network.config.model_type} has a decoder; give an encoder, such as a BERT")
    provenance = {"source": Path(source).resolve().name if Path(source).exists() else source}
    if revision := getattr(network.config, "_commit_hash", None):
        provenance["revision"] = revision
    return Checkpoint(network.eval(), _plain(tokenizer.backend_tokenizer), provenance["source"], provenance)


def _from_onnx(source: Path, graph: Path, tokenizer: Path) -> Checkpoint:
    from sciret.onnx_export.onnx_weights import bert_from_onnx

    provenance = {"source": source.name, "sha256": sha256(source), "graph": graph.name}
    network = bert_from_onnx(graph)
    return Checkpoint(network, _plain(Tokenizer.from_file(str(tokenizer))), graph.stem, provenance)


def _unpack(archive: Path, folder: Path) -> tuple[Path, Path]:
    """The one graph and the one tokenizer of a package; paths inside it are dropped, so nothing lands elsewhere."""
    try:
        with zipfile.ZipFile(archive) as package:
            names = package.namelist()
            found = []
            for pattern in ("*.onnx", "*tokenizer.json"):
                name = _only([n for n in names if PurePosixPath(n).match(pattern)], pattern, archive.name)
                target = folder / PurePosixPath(name).name
                target.write_bytes(package.read(name))
                found.append(target)
    except zipfile.BadZipFile as error:
        raise BundleError(f"{archive}: not a readable package ({error}); download it again") from error
    return found[0], found[1]


def _only(names: Sequence[str], pattern: str, where: str) -> str:
    if len(names) != 1:
        raise BundleError(f"{where}: expected exactly one {pattern}, found {', '.join(names) or 'none'}")
    return names[0]


def _plain(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _first_position(network: PreTrainedModel, positions: int) -> int:
    """RoBERTa and its kin count positions from the padding id + 1 on, which leaves fewer of them for text."""
    for name, module in network.named_modules():
        if isinstance(module, nn.Embedding) and name.endswith("position_embeddings"):
            padding = module.padding_idx
            return 0 if padding is None or module.num_embeddings != positions else padding + 1
    return 0
