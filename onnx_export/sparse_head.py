"""What makes a checkpoint give sparse vectors: a head on its states, a vocabulary, and how a query is made of them.

A checkpoint of this kind is a folder with a casper.json. To export another kind, write a function that reads such a
folder and add it to `KINDS`; nothing else has to know of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sciret.errors import BundleError, SettingsError
from sciret.training.casper_folder import DESCRIPTION, casper_folder

if TYPE_CHECKING:
    from sciret.onnx_export.checkpoint import Checkpoint

Read = Callable[[Path, "Checkpoint | None"], "Checkpoint"]
"""From the folder with the casper.json, and the checkpoint that `--backbone` names, to a checkpoint with a head."""


def load_sparse(source: str, backbone: Checkpoint | None) -> Checkpoint | None:
    """None where the source is no folder of this kind, but a plain model."""
    folder = casper_folder(source)
    if folder is None:
        if backbone is not None:
            raise SettingsError(f"{source}: a model of its own, no head for another; leave out --backbone")
        return None
    try:
        kind = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))["kind"]
        read = KINDS[kind]
    except (ValueError, KeyError, TypeError) as error:
        raise BundleError(f"{folder / DESCRIPTION}: not of a kind that is exported ({error})") from error
    return read(folder, backbone)


def _casper(folder: Path, backbone: Checkpoint | None) -> Checkpoint:
    from sciret.onnx_export.casper_head import load_casper

    if backbone is not None:
        raise SettingsError(f"{folder}: CASPER has its network with it; leave out --backbone")
    return load_casper(folder)


def _anchored(folder: Path, backbone: Checkpoint | None) -> Checkpoint:
    from sciret.onnx_export.anchored_head import load_anchored

    return load_anchored(folder, backbone)


KINDS: Mapping[str, Read] = {"casper": _casper, "anchored": _anchored}
