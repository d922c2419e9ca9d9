"""Checkpoints: everything that the rest of a run depends on, so that it goes on as if it had never stopped."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from sciret.errors import SettingsError
from sciret.training.processes import Processes

STATE = "state.pt"
BEST = "best.pt"


class Checkpoints:
    """Folders named by step; one is either whole or not there."""

    def __init__(self, folder: Path, keep: int, processes: Processes) -> None:
        self._folder = folder
        self._keep = keep
        self._processes = processes

    def save(self, step: int, state: Mapping[str, Any]) -> None:
        """The leader's state, and the random numbers of every process. The oldest go."""
        aside = self._folder / f".step-{step:08}"
        if self._processes.leads:
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(parents=True)
            torch.save({**state, "world": self._processes.world}, aside / STATE)
        self._processes.wait()
        torch.save(random_state(self._processes.device), aside / f"random-{self._processes.rank}.pt")
        self._processes.wait()
        if self._processes.leads:
            target = self._folder / f"step-{step:08}"
            shutil.rmtree(target, ignore_errors=True)
            aside.rename(target)
            for old in self.steps()[: -self._keep]:
                shutil.rmtree(self._folder / f"step-{old:08}")
        self._processes.wait()

    def steps(self) -> list[int]:
        """Of the checkpoints at hand, ascending."""
        return sorted(int(path.name.removeprefix("step-")) for path in self._folder.glob("step-*"))

    def load(self) -> dict[str, Any] | None:
        """The newest state, with the random numbers put back; None where there is none."""
        steps = self.steps()
        if not steps:
            return None
        newest = self._folder / f"step-{steps[-1]:08}"
        state: dict[str, Any] = torch.load(newest / STATE, map_location="cpu", weights_only=True)
        if state["world"] != self._processes.world:
            raise SettingsError(
                f"{newest}: the run had {state['world']} processes, now there are {self._processes.world}; "
                f"batches would be others. Go on with as many, or start a new run from its model."
            )
        put_random_state(
            torch.load(newest / f"random-{self._processes.rank}.pt", weights_only=True), self._processes.device
        )
        return state

    def save_best(self, weights: Mapping[str, Any]) -> None:
        if self._processes.leads:
            self._folder.mkdir(parents=True, exist_ok=True)
            torch.save(dict(weights), self._folder / f".{BEST}")
            (self._folder / f".{BEST}").rename(self._folder / BEST)

    def load_best(self) -> dict[str, Any]:
        weights: dict[str, Any] = torch.load(self._folder / BEST, map_location="cpu", weights_only=True)
        return weights


def random_state(device: torch.device) -> dict[str, Any]:
    """Of dropout. Order and masking of the data do not depend on it: they are functions of seed and number."""
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def put_random_state(state: Mapping[str, Any], device: torch.device) -> None:
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda":
        torch.cuda.set_rng_state(state["cuda"], device)
