"""Where a bundle goes: all of it or nothing, and nothing lost that is not a bundle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sciret.errors import BundleError
from sciret.onnx_export.target import check_target, put_in_place


@pytest.fixture
def made(tmp_path: Path) -> Path:
    folder = tmp_path / "made"
    folder.mkdir()
    _describe(folder, {"tokenizer.json": "new"})
    return folder


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A bundle with a role classifier of its own and a model card that somebody wrote."""
    folder = tmp_path / "old"
    folder.mkdir()
    _describe(folder, {"tokenizer.json": "old", "roles.npz": "old"})
    (folder / "MODEL_CARD.md").write_text("card", encoding="utf-8")
    return folder


def _describe(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "bundle.json").write_text(json.dumps({"files": files}), encoding="utf-8")


def test_refuses_a_folder_with_other_things_in_it(tmp_path: Path) -> None:
    """Even with force: only a bundle may be replaced."""
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(BundleError, match="not a bundle"):
        check_target(tmp_path, force=True)


def test_refuses_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BundleError, match="is a file"):
        check_target(tmp_path / "file", force=True)


def test_replaces_a_bundle_only_by_force(old: Path) -> None:
    with pytest.raises(BundleError, match="--force"):
        check_target(old, force=False)
    check_target(old, force=True)


def test_a_new_folder_may_lie_in_one_that_is_not_there_yet(tmp_path: Path, made: Path) -> None:
    out = tmp_path / "a" / "b"
    check_target(out, force=False)
    put_in_place(made, out)
    assert (out / "bundle.json").is_file()


def test_an_empty_folder_is_filled(tmp_path: Path, made: Path) -> None:
    out = tmp_path / "empty"
    out.mkdir()
    check_target(out, force=False)
    put_in_place(made, out)
    assert (out / "tokenizer.json").read_text(encoding="utf-8") == "new"


def test_replacing_keeps_the_model_card_and_drops_what_the_old_model_had(old: Path, made: Path) -> None:
    """A role classifier fits the vectors of its own model only."""
    put_in_place(made, old)
    assert {path.name for path in old.iterdir()} == {"bundle.json", "tokenizer.json", "MODEL_CARD.md"}
    assert (old / "tokenizer.json").read_text(encoding="utf-8") == "new"
    assert not made.exists()
