"""A CASPER checkpoint on disk: a folder of transformers, and beside it what transformers does not know.

config.json, model.safetensors, tokenizer.json, ...   the backbone, as `save_pretrained` writes it
keyphrases.txt                                         one a line, in the order of their rows
casper.json                                            kind, backbone, shape, provenance
casper.safetensors                                     keyphrases.weight [K, d], keyphrases.bias [K]; and of an
                                                       encoder with a fitted head transform.* and decoder.*
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from sciret.encoders.phrases import load_phrases
from sciret.errors import BundleError, SettingsError
from sciret.training.backbone import FittedEncoder, load_backbone, load_tokenizer, plain, quiet
from sciret.training.casper import Casper, Shape, start_rows

FORMAT = 1
DESCRIPTION = "casper.json"
KEYPHRASES = "keyphrases.txt"
TENSORS = "casper.safetensors"
MODEL = "model"
"""The checkpoint's place in a run folder."""


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A network with everything that is needed to use, train or save it."""

    casper: Casper
    tokenizer: PreTrainedTokenizerFast
    keyphrases: tuple[str, ...]
    provenance: Mapping[str, Any]
    fresh: bool
    """The keyphrase rows have seen no training: they are where `start_rows` put them."""


def save_casper(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the whole folder; it must not hold anything yet."""
    folder.mkdir(parents=True)
    casper = checkpoint.casper
    with quiet():
        casper.backbone.save(folder)
        checkpoint.tokenizer.save_pretrained(folder)
    (folder / KEYPHRASES).write_text("".join(f"{phrase}\n" for phrase in checkpoint.keyphrases), encoding="utf-8")
    save_file(own_tensors(casper), folder / TENSORS)
    description = {
        "format": FORMAT,
        "kind": "casper",
        "backbone": "encoder" if isinstance(casper.backbone, FittedEncoder) else "mlm",
        "keyphrases": len(checkpoint.keyphrases),
        **asdict(casper.shape),
        "provenance": checkpoint.provenance,
    }
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def own_tensors(casper: Casper) -> dict[str, Tensor]:
    """What `save_pretrained` of the backbone leaves out."""
    modules: dict[str, torch.nn.Module] = {"keyphrases": casper.keyphrases}
    if isinstance(casper.backbone, FittedEncoder):
        modules |= {"transform": casper.backbone.transform, "decoder": casper.backbone.decoder}
    return {f"{name}.{key}": t for name, module in modules.items() for key, t in module.state_dict().items()}


def open_casper(source: str, shape: Shape | None = None, chunk: int = 0) -> Checkpoint:
    """A checkpoint that `save_casper` wrote, or the run folder it is in. `shape` replaces the one it was saved with."""
    folder = casper_folder(source)
    if folder is None:
        raise SettingsError(f"{source}: no {DESCRIPTION} there; give the folder of a run, or of a CASPER checkpoint")
    description = _description(folder)
    stored = Shape(**{f.name: description[f.name] for f in fields(Shape)})
    backbone, tokenizer = load_backbone(str(folder), description["backbone"]), load_tokenizer(str(folder))
    keyphrases = tuple(load_phrases(folder / KEYPHRASES))
    casper = Casper(backbone, len(keyphrases), tokenizer.all_special_ids, shape or stored, chunk)
    tensors, expected = load_file(folder / TENSORS), own_tensors(casper)
    if {n: t.shape for n, t in tensors.items()} != {n: t.shape for n, t in expected.items()}:
        raise BundleError(f"{folder / TENSORS}: not the tensors that {DESCRIPTION} speaks of; copy the folder again")
    for name, tensor in expected.items():
        tensor.copy_(tensors[name])
    return Checkpoint(casper, tokenizer, keyphrases, description["provenance"], fresh=False)


def start_casper(source: str, keyphrases: Sequence[str], shape: Shape, bias: float, chunk: int = 0) -> Checkpoint:
    """CASPER before any training, on a masked language model or an encoder; the head of the latter is to be fitted."""
    if not keyphrases:
        raise SettingsError("the vocabulary has no keyphrase; `sciret vocab build` makes one")
    backbone, tokenizer = load_backbone(source), load_tokenizer(source)
    casper = Casper(backbone, len(keyphrases), tokenizer.all_special_ids, shape, chunk)
    start_rows(casper, keyphrases, plain(tokenizer), bias)
    provenance = {"backbone": Path(source).resolve().name if Path(source).exists() else source}
    if revision := getattr(backbone.network.config, "_commit_hash", None):
        provenance["revision"] = revision
    return Checkpoint(casper, tokenizer, tuple(keyphrases), provenance, fresh=True)


def casper_folder(source: str) -> Path | None:
    """Where the checkpoint of a source is, or None where the source is no CASPER but a plain model."""
    for folder in (Path(source), Path(source) / MODEL):
        if (folder / DESCRIPTION).is_file():
            return folder
    return None


def _description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT or content["kind"] != "casper":
            raise ValueError(f"format {content['format']!r} of kind {content['kind']!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise BundleError(f"{path}: not a description that this sciret reads ({error})") from error
    return content
