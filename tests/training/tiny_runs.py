"""Eight papers, their queries, and runs over them: what tests of whole trainings share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from sciret.training.casper_folder import open_casper
from sciret.training.configuration import CasperTraining
from sciret.training.train_casper import train_casper
from sciret.training.trainer import Outcome

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


def weights(run: Path) -> dict[str, torch.Tensor]:
    return open_casper(str(run)).casper.state_dict()


def log(run: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, (run / "log.jsonl").read_text(encoding="utf-8").splitlines())
    return [{name: value for name, value in line.items() if name != "seconds"} for line in lines]
