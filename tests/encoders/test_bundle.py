"""`bundle.json`: what is read back, and what is refused before a graph is loaded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from sciret.encoders.bundle import Bundle, Sparse, fingerprint, load_bundle, write_description
from sciret.errors import BundleError


@pytest.fixture(scope="module")
def small_bundle(make_bundle: Callable[..., str]) -> str:
    return make_bundle()


def described(tmp_path: Path, source: str, **changes: Any) -> str:
    """A copy of the bundle, under a description with changes."""
    folder = tmp_path / "copy"
    shutil.copytree(source, folder)
    path = folder / "bundle.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, **changes}), encoding="utf-8")
    return str(folder)


def test_bundles_from_before_sparse_vectors_load_as_ever(default_bundle: Bundle, tmp_path: Path) -> None:
    """The fingerprint is over the same files, and a description that is written anew has no section sparse."""
    without = {name: sha for name, sha in default_bundle.files.items() if name in ("model.int8.onnx", "tokenizer.json")}
    old = replace(default_bundle, folder=tmp_path, sparse=None, outputs=("dense", "sentences"), files=without)
    assert fingerprint(without) == fingerprint({**without, "roles.npz": "0"})
    write_description(old)
    assert "sparse" not in json.loads((tmp_path / "bundle.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"outputs": []}, "outputs none"),
        ({"outputs": ["dense"]}, "come together"),
        ({"outputs": ["dense", "sentences", "keyphrases"], "sparse": asdict(Sparse())}, "come together"),
        ({"outputs": ["dense", "sentences", "colours"]}, "come together"),
        ({"outputs": ["dense", "sentences", "tokens"], "sparse": None}, "section sparse"),
        ({"outputs": ["dense", "sentences"], "sparse": asdict(Sparse())}, "section sparse"),
        ({"outputs": ["tokens"], "sparse": asdict(Sparse()), "files": {}}, "lists no features.npz"),
        ({"sparse": {**asdict(Sparse()), "mass": 0}}, "mass 0"),
        ({"sparse": {**asdict(Sparse()), "mass": "much"}}, "mass 'much'"),
        ({"sparse": {**asdict(Sparse()), "beta": -1}}, "beta -1"),
        ({"sparse": {**asdict(Sparse()), "query_features": 0}}, "query_features 0"),
        ({"sparse": {**asdict(Sparse()), "query_tokens": "guessed"}}, "weighted or encoded or both, not 'guessed'"),
        ({"sparse": {"gamma": 1}}, "gamma"),
        ({"sparse": "yes"}, "not a bundle description"),
    ],
)
def test_a_description_that_contradicts_itself_is_refused(
    small_bundle: str, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(BundleError, match=said):
        load_bundle(described(tmp_path, small_bundle, **changes))
