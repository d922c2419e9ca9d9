"""The training loop: the same for pretraining and for CASPER, on one process or many."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from sciret.training.checkpoints import Checkpoints
from sciret.training.configuration import Training
from sciret.training.curves import draw_curves
from sciret.training.optimisation import Precision, make_optimizer, make_scheduler
from sciret.training.processes import Processes
from sciret.training.run_folder import RunFolder

AHEAD = 2
"""Batches made ready while another is computed."""


class Movable(Protocol):
    def to(self, device: torch.device) -> Self: ...


B_co = TypeVar("B_co", bound=Movable, covariant=True)


class Task(Protocol[B_co]):
    """What is trained, and on what."""

    @property
    def step(self) -> nn.Module:
        """Called with a batch and a share of regularisation; gives `loss`, `held_out` and parts to be logged."""

    def batch(self, number: int) -> B_co:
        """This process's part of a batch: always the same for the same number."""

    def held_out(self) -> Iterator[B_co]:
        """This process's part of each held-out batch, the same at every evaluation; none: no early stopping."""

    def share(self, step: int) -> float:
        """Of the final regularisation, at a step."""


@dataclass(slots=True)
class Progress:
    """What changes in the course of a run besides weights; a checkpoint holds it."""

    step: int = 0
    best: float = float("inf")
    best_step: int = 0
    waited: int = 0
    """Evaluations since the best."""
    sums: dict[str, float] = field(default_factory=dict)
    """Of what is logged, since the last line of the log."""


@dataclass(frozen=True, slots=True)
class Outcome:
    steps: int
    best: float | None
    """The lowest held-out loss, and the step it was found at; the weights are those of that step."""
    best_step: int
    stopped: str


class Trainer:
    def __init__(self, task: Task[Any], configuration: Training, run: RunFolder, processes: Processes) -> None:
        self._task, self._configuration, self._run, self._processes = task, configuration, run, processes
        self._module = processes.parallel(task.step.to(processes.device))
        self._optimizer = make_optimizer(task.step, configuration)
        self._scheduler = make_scheduler(self._optimizer, configuration)
        self._precision = Precision(configuration.precision, processes.device)
        self._checkpoints = Checkpoints(run.checkpoints, configuration.keep, processes)
        self._progress = Progress()
        self._began = time.monotonic()

    def train(self, on_line: Callable[[dict[str, Any]], None]) -> Outcome:
        """Until the last step, or until the held-out loss gets no better. `on_line` sees every line of the log."""
        configuration, progress = self._configuration, self._progress
        self._restore()
        stopped = "all steps done"
        for batches in self._batches():
            self._advance(batches)
            at_end = progress.step == configuration.steps
            if at_end or progress.step % configuration.log_every == 0:
                self._log(on_line)
            if at_end or progress.step % configuration.evaluate_every == 0:
                self._evaluate(on_line)
            patient = not configuration.patience or progress.waited < configuration.patience
            if at_end or not patient or progress.step % configuration.checkpoint_every == 0:
                self._checkpoints.save(progress.step, self._state())
            if not patient:
                stopped = f"no better held-out loss for {progress.waited} evaluations"
                break
        self._processes.wait()
        return self._finished(stopped)

    def _batches(self) -> Iterator[list[Any]]:
        """For every step that is left, as many batches as are accumulated."""
        if (
            self._progress.step >= self._configuration.steps
            or 0 < self._configuration.patience <= self._progress.waited
        ):
            return
        each = self._configuration.accumulation
        numbers = range(self._progress.step * each, self._configuration.steps * each)
        batches = ahead(self._task.batch, numbers)
        for _ in range(self._progress.step, self._configuration.steps):
            yield [next(batches) for _ in range(each)]

    def _advance(self, batches: list[Any]) -> None:
        """One step of the optimizer."""
        configuration, progress, scaler = self._configuration, self._progress, self._precision.scaler
        self._module.train()
        self._optimizer.zero_grad(set_to_none=True)
        parts: dict[str, Tensor] = {}
        for number, batch in enumerate(batches):
            last = number == len(batches) - 1
            # Gradients are exchanged once, after the last of the batches.
            with nullcontext() if last or self._processes.world == 1 else self._module.no_sync():  # type: ignore[operator]
                found = self._forward(batch)
                # DDP takes the mean over processes, but each has only its own part of the gradient: see processes.py.
                loss = found["loss"] * (self._processes.world / len(batches))
                scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            parts = {name: parts.get(name, 0) + value.detach() / len(batches) for name, value in found.items()}
        scaler.unscale_(self._optimizer)
        parts["gradient"] = nn.utils.clip_grad_norm_(self._module.parameters(), configuration.clip)
        scale = scaler.get_scale()
        scaler.step(self._optimizer)
        scaler.update()
        progress.step += 1
        # fp16 only: a step whose gradients overflowed was skipped, and the scale lowered; the rate waits for the next.
        if scaler.get_scale() >= scale:
            self._scheduler.step()
        for name, value in parts.items():
            progress.sums[name] = progress.sums.get(name, 0.0) + float(value)
        progress.sums["count"] = progress.sums.get("count", 0.0) + 1

    def _forward(self, batch: Any) -> dict[str, Tensor]:
        with self._precision.mixed():
            parts: dict[str, Tensor] = self._module(
                batch.to(self._processes.device), self._task.share(self._progress.step)
            )
        return parts

    def _log(self, on_line: Callable[[dict[str, Any]], None]) -> None:
        count = self._progress.sums.pop("count")
        means = {name: value / count for name, value in self._progress.sums.items() if name != "held_out"}
        self._progress.sums.clear()
        self._write({**means, "rate": self._scheduler.get_last_lr()[0]}, on_line)

    @torch.no_grad()
    def _evaluate(self, on_line: Callable[[dict[str, Any]], None]) -> None:
        """Every process has its part of every held-out batch, so that all find the same loss and stop together."""
        self._module.eval()
        values, count = 0.0, 0
        for batch in self._task.held_out():
            with self._precision.mixed():
                parts = self._task.step(batch.to(self._processes.device), 0.0)
            values, count = values + float(parts["held_out"]), count + 1
        if not count:
            return
        loss, progress = values / count, self._progress
        progress.waited = 0 if loss < progress.best else progress.waited + 1
        if loss < progress.best:
            progress.best, progress.best_step = loss, progress.step
            self._checkpoints.save_best(self._task.step.state_dict())
        self._write({"held_out": loss}, on_line)
        if self._processes.leads:
            draw_curves(self._run.journal.read(), self._run.curves)

    def _write(self, line: dict[str, Any], on_line: Callable[[dict[str, Any]], None]) -> None:
        if self._processes.leads:
            whole = {"step": self._progress.step, **line, "seconds": round(time.monotonic() - self._began, 3)}
            self._run.journal.write(whole)
            on_line(whole)

    def _finished(self, stopped: str) -> Outcome:
        progress = self._progress
        if self._processes.leads:
            draw_curves(self._run.journal.read(), self._run.curves)
        if progress.best_step:
            self._task.step.load_state_dict(self._checkpoints.load_best())
        best = progress.best if progress.best_step else None
        return Outcome(progress.step, best, progress.best_step, stopped)

    def _state(self) -> dict[str, Any]:
        progress = {name: getattr(self._progress, name) for name in Progress.__slots__}
        return {
            "progress": progress,
            "weights": self._task.step.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "scheduler": self._scheduler.state_dict(),
            "scaler": self._precision.scaler.state_dict(),
        }

    def _restore(self) -> None:
        state = self._checkpoints.load()
        if state is None:
            return
        for name, value in state["progress"].items():
            setattr(self._progress, name, value)
        self._task.step.load_state_dict(state["weights"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._scheduler.load_state_dict(state["scheduler"])
        self._precision.scaler.load_state_dict(state["scaler"])
        if self._processes.leads:
            self._run.journal.rewind(self._progress.step)
        self._processes.wait()


def ahead(make: Callable[[int], Any], numbers: range) -> Iterator[Any]:
    """What `make` gives for each number, in order, computed in a thread before it is asked for."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        waiting: deque[Future[Any]] = deque(pool.submit(make, number) for number in numbers[:AHEAD])
        try:
            for number in range(len(numbers)):
                made = waiting.popleft().result()
                if number + AHEAD < len(numbers):
                    waiting.append(pool.submit(make, numbers[number + AHEAD]))
                yield made
        finally:
            pool.shutdown(cancel_futures=True)
