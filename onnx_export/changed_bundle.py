"""A bundle with some keyphrases left out or others added: all graphs, lists and hashes change together, or nothing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from sciret.encoded import Vector
from sciret.encoders.batching import content, padded
from sciret.encoders.bundle import (
    FEATURES,
    GRAPHS,
    KEYPHRASES,
    Bundle,
    Precision,
    fingerprint,
    load_bundle,
    sha256,
    write_description,
)
from sciret.encoders.features import ARRAYS
from sciret.encoders.phrases import load_phrases
from sciret.encoders.session import open_session
from sciret.encoders.text import TextReader
from sciret.errors import BundleError
from sciret.onnx_export.keyphrase_columns import Columns, find_decoder, replace_columns
from sciret.onnx_export.parity import TEXTS
from sciret.onnx_export.target import check_target, put_in_place

OUTPUT = "keyphrases"
CLOSE = 1e-4
"""What another width of a matrix may change in the old columns: the order in which floats are summed, no more."""


@dataclass(frozen=True, slots=True, eq=False)
class NewKeyphrases:
    names: tuple[str, ...]
    columns: Mapping[Precision, Columns]
    """By graph: what belongs to a keyphrase need not be split up into the same vectors in both."""
    weights: Vector  # [n] in a query


def write_changed(
    bundle: Bundle,
    out: Path,
    kept: npt.NDArray[np.intp],
    new: NewKeyphrases,
    provenance: Mapping[str, Any],
    *,
    force: bool = False,
) -> Bundle:
    """The bundle `out`: of the old keyphrases those kept, in their order, and then the new ones."""
    check_target(out, force)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as temporary:
        folder = Path(temporary, "bundle")
        shutil.copytree(bundle.folder, folder)
        names = load_phrases(bundle.path(KEYPHRASES))
        for precision in bundle.precisions:
            path = folder / GRAPHS[precision]
            model = onnx.load(path)
            decoder = find_decoder(model, OUTPUT, len(names))
            replace_columns(model, decoder, OUTPUT, kept, new.columns[precision])
            onnx.save(model, path)
        _write_lists(folder, [*(names[i] for i in kept), *new.names], kept, new.weights)
        files = {name: sha256(folder / name) for name in bundle.files}
        made = replace(
            bundle,
            folder=folder,
            files=files,
            fingerprint=fingerprint(files),
            provenance={**bundle.provenance, **provenance},
        )
        write_description(made)
        _check(bundle, made, kept)
        put_in_place(folder, out)
    return load_bundle(str(out))


def _write_lists(folder: Path, names: list[str], kept: npt.NDArray[np.intp], weights: Vector) -> None:
    (folder / KEYPHRASES).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    with np.load(folder / FEATURES, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    name = ARRAYS[OUTPUT]
    arrays[name] = np.concatenate([arrays[name][kept], weights.astype(np.float32)])
    np.savez(folder / FEATURES, **arrays)


def _check(old: Bundle, new: Bundle, kept: npt.NDArray[np.intp]) -> None:
    """On real text: everything that is in both bundles is the same in both, in every graph."""
    texts = [" ".join(text.splitlines()) for text in TEXTS.read_text(encoding="utf-8").strip().split("\n\n")][:4]
    for precision in old.precisions:
        before, after = (_outputs(_only(bundle, precision), texts) for bundle in (old, new))
        for name in old.outputs:
            expected = before[name][:, kept] if name == OUTPUT else before[name]
            found = after[name][:, : len(kept)] if name == OUTPUT else after[name]
            if not np.allclose(expected, found, rtol=CLOSE, atol=CLOSE) or not np.isfinite(after[name]).all():
                raise BundleError(
                    f"{old.folder}: the {precision} graph is not of the kind that can be changed: its {name} came out "
                    f"otherwise. Nothing was written; export the model again with `sciret export`."
                )


def _outputs(bundle: Bundle, texts: list[str]) -> dict[str, Vector]:
    """Of all texts together [B, ...], sentences in the order of the texts."""
    session, reader = open_session(bundle, "cpu", 1), TextReader(bundle)
    weighs = np.load(bundle.path(FEATURES))[ARRAYS["tokens"]] > 0
    found = []
    for text in texts:
        read = [reader.read_query(text)]
        found.append(session.run({**padded(read), "content": content(read, weighs)}))
    return {
        name: np.concatenate([each[name].reshape(-1, each[name].shape[-1]) for each in found])
        for name in bundle.outputs
    }


def _only(bundle: Bundle, precision: str) -> Bundle:
    others = {GRAPHS[other] for other in bundle.precisions if other != precision}
    return replace(bundle, files={name: digest for name, digest in bundle.files.items() if name not in others})
