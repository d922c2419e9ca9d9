"""Checkpoints and the run folder around them: whole or not there, few, and only for the run they belong to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch

from sciret.errors import SettingsError
from sciret.training.checkpoints import Checkpoints
from sciret.training.processes import Processes
from sciret.training.run_folder import RunFolder, git_revision

ALONE = Processes(0, 1, torch.device("cpu"))


def test_the_newest_are_kept_and_the_newest_is_loaded(tmp_path: Path) -> None:
    """With the random numbers as they were; one that was not written to its end does not count."""
    checkpoints = Checkpoints(tmp_path, keep=2, processes=ALONE)
    assert checkpoints.load() is None
    for step in (5, 100, 20):
        checkpoints.save(step, {"step": step})
        expected = torch.rand(3)
    assert checkpoints.steps() == [20, 100]
    (tmp_path / ".step-00000200").mkdir()
    checkpoints.save(300, {"step": 300})
    expected = torch.rand(3)
    torch.manual_seed(99)
    assert checkpoints.load() == {"step": 300, "world": 1}
    assert torch.equal(torch.rand(3), expected)


def test_another_number_of_processes_is_refused(tmp_path: Path) -> None:
    Checkpoints(tmp_path, 1, ALONE).save(1, {})
    with pytest.raises(SettingsError, match="the run had 1 processes, now there are 2"):
        Checkpoints(tmp_path, 1, Processes(0, 2, torch.device("cpu"))).load()


def test_a_folder_with_anything_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("draft", encoding="utf-8")
    with pytest.raises(SettingsError, match="is there already"):
        RunFolder(tmp_path).clear()
    assert (tmp_path / "thesis.tex").is_file()


def test_a_run_of_another_command_is_not_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"kind": "mlm"}', encoding="utf-8")
    with pytest.raises(SettingsError, match="a run of `sciret train mlm`, not of `sciret train casper`"):
        RunFolder(tmp_path).description("casper")


def test_the_revision_is_that_of_the_checkout(tmp_path: Path) -> None:
    """And none where the code is not from one, even inside somebody's repository."""
    root = Path(__file__).parents[2]
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)  # noqa: S607
    if asked.returncode == 0:
        assert (git_revision(root / "training") or "").removesuffix("+") == asked.stdout.strip()
    assert git_revision(tmp_path) is None
