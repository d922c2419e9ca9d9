"""The loop itself, on a task of one number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from sciret.training.configuration import MaskedTraining
from sciret.training.processes import Processes
from sciret.training.run_folder import RunFolder
from sciret.training.trainer import Trainer


@dataclass(frozen=True, slots=True)
class Number:
    value: float

    def to(self, _device: torch.device) -> Number:
        return self


class Step(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, batch: Number, _share: float) -> dict[str, Tensor]:
        return {"loss": (self.weight * batch.value).sum()}


class Task:
    """The loss of the second batch is too large for its scale."""

    def __init__(self) -> None:
        self.step = Step()

    def batch(self, number: int) -> Number:
        return Number(3e38 if number == 1 else 1.0)

    def held_out(self) -> Iterator[Number]:
        return iter(())

    def share(self, _step: int) -> float:
        return 1.0


def test_the_rate_waits_for_steps_that_the_scaler_skips(tmp_path: Path) -> None:
    """With the scaler of fp16, which otherwise only GPUs use: gradients overflow, weights and rate stay."""
    configuration = MaskedTraining(model="m", papers=("p",), steps=4, warmup=3, rate=4.0, weight_decay=0.0, log_every=1)
    run, task = RunFolder(tmp_path), Task()
    trainer = Trainer(task, configuration, run, Processes(0, 1, torch.device("cpu")))
    trainer._precision.scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    seen: list[tuple[float, float]] = []
    trainer.train(lambda line: seen.append((line["rate"], task.step.weight.item())))
    rates, weights = zip(*seen, strict=True)
    assert rates == (2.0, 2.0, 3.0, 4.0)
    assert weights[0] == weights[1] > weights[2] > weights[3]
