"""Eight papers, their queries, and runs over them: what tests of whole trainings share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sciret.training import run_folder
from sciret.training.casper_folder import open_casper
from sciret.training.configuration import CasperTraining
from sciret.training.train_casper import train_casper
from sciret.training.trainer import Outcome, Trainer

TOPICS = [
    "coral reef",
    "neural network",
    "infant sleep",
    "steel fatigue",
    "bird song",
    "peat bog",
    "galaxy dust",
    "laser",
]
QUERIES = [
    "ocean carbon",
    "deep graph",
    "brain memory",
    "small crack",
    "speech music",
    "soil climate",
    "star data",
    "optical fibre",
]
PAPERS = [
    {"id": f"p{i}", "title": f"a study of {topic}", "abstract": f"we show that {topic} and new results of {topic}."}
    for i, topic in enumerate(TOPICS)
]
TRIPLETS: list[dict[str, Any]] = [
    {
        "source": source,
        "query": query,
        "positive": f"p{i}",
        "negatives": [f"p{(i + 1) % 8}", f"p{(i + 3) % 8}"],
        "scores": [0.9, 0.2, 0.1],
        "split": split,
    }
    for source, split in (("citation", "train"), ("title", "dev"))
    for i, query in enumerate(QUERIES)
]
Configure = Callable[..., CasperTraining]


def train(configuration: CasperTraining, out: Path, resume: bool = False) -> tuple[Outcome, list[dict[str, Any]]]:
    lines: list[dict[str, Any]] = []
    return train_casper(configuration, out, resume, lines.append), lines


def assert_goes_on(run: Callable[[Path, bool], object], folder: Path, stop: int) -> None:
    """A run that is stopped after so many steps, and then resumed, ends as one that was not: log, state of the last
    checkpoint, every file of the result, all to the last bit. It has checkpoints every second step, and lines of its
    log between them."""
    with pytest.MonkeyPatch.context() as patched:
        # A model names the checkout's revision, which is another one if somebody commits, or changes a file, meanwhile.
        patched.setattr(run_folder, "git_revision", lambda _: None)
        _assert_goes_on(run, folder, stop)


def _assert_goes_on(run: Callable[[Path, bool], object], folder: Path, stop: int) -> None:
    run(folder / "whole", False)
    advance = Trainer._advance

    def stopped(self: Trainer, batches: list[Any]) -> None:
        if self._progress.step == stop:
            raise KeyboardInterrupt
        advance(self, batches)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Trainer, "_advance", stopped)
        with pytest.raises(KeyboardInterrupt):
            run(folder / "parts", False)
    assert not (folder / "parts" / "model").exists()
    assert _steps(folder / "parts")[-1] == f"step-{stop - stop % 2:08}"
    run(folder / "parts", True)
    assert log(folder / "parts") == log(folder / "whole")
    assert _steps(folder / "parts") == _steps(folder / "whole")
    last = Path("checkpoints", _steps(folder / "whole")[-1], "state.pt")
    states = [torch.load(folder / each / last, weights_only=True) for each in ("whole", "parts")]
    torch.testing.assert_close(states[0], states[1], rtol=0, atol=0)
    results = [
        {path.name: path.read_bytes() for path in (folder / each / "model").iterdir()} for each in ("whole", "parts")
    ]
    assert results[0].keys() == results[1].keys() >= {"casper.json", "keyphrases.txt"}
    assert [name for name, content in results[0].items() if results[1][name] != content] == []


def _steps(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "checkpoints").glob("step-*"))


def weights(run: Path) -> dict[str, torch.Tensor]:
    return open_casper(str(run)).casper.state_dict()


def log(run: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, (run / "log.jsonl").read_text(encoding="utf-8").splitlines())
    return [{name: value for name, value in line.items() if name != "seconds"} for line in lines]
