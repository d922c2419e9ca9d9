"""One process or many: who this one is, where it computes, and how batches are put together over all of them.

Every step computes the loss of the whole batch from gathered vectors. Gradients flow through a process's own part only,
so those of all processes add up to that of one process with everything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from sciret.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Processes:
    """As the launcher (torchrun) says; alone without one."""

    rank: int
    world: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Writes what only one may write."""
        return self.rank == 0

    def wait(self) -> None:
        """Until all are here."""
        if self.world > 1:
            dist.barrier()

    def parallel(self, module: nn.Module) -> nn.Module:
        """A module whose gradients become the mean over processes."""
        return DistributedDataParallel(module) if self.world > 1 else module


@contextmanager
def joined(device: str) -> Iterator[Processes]:
    """Join the group that torchrun started, if it did, and leave it at the end. `auto` is a GPU where there is one."""
    rank, local, world = int(os.environ.get("RANK", "0")), int(os.environ.get("LOCAL_RANK", "0")), launched()
    chosen = _device(device, local)
    if world == 1:
        yield Processes(0, 1, chosen)
        return
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo", timeout=PATIENCE)
    try:
        yield Processes(rank, world, chosen)
    finally:
        dist.destroy_process_group()


PATIENCE = timedelta(days=1)
"""The first process reads millions of triplets, or encodes them for a teacher, while the others wait: torch's own ten
to thirty minutes would end the run. A process that dies is noticed by the launcher, not by this."""


def launched() -> int:
    """How many processes there are: those that torchrun started, or this one."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def _device(device: str, local: int) -> torch.device:
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise SettingsError("device cuda: torch finds no GPU; install a torch with CUDA, or take --device cpu")
    if device not in ("cpu", "cuda"):
        raise SettingsError(f"device {device!r}: there are auto, cpu, cuda")
    return torch.device(device, local) if device == "cuda" else torch.device(device)


def gather(part: Tensor) -> Tensor:
    """Rows [B, ...] of every process, in their order: [W·B, ...]. All must have the same shape."""
    if not (dist.is_initialized() and dist.get_world_size() > 1):
        return part
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part.detach().contiguous())
    parts[dist.get_rank()] = part  # the one with a gradient
    return torch.cat(parts)
