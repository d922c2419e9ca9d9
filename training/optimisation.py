"""AdamW with linear warmup and decay, and the number format that it all happens in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from sciret.errors import SettingsError
from sciret.training.configuration import Training

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def make_optimizer(module: nn.Module, configuration: Training) -> AdamW:
    """Matrices decay, vectors (biases, norms) do not."""
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p.dim() > 1], "weight_decay": configuration.weight_decay},
        {"params": [p for p in trained if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return AdamW(groups, lr=configuration.rate)


def make_scheduler(optimizer: AdamW, configuration: Training) -> LambdaLR:
    return LambdaLR(optimizer, lambda step: share_of_rate(step, configuration.warmup, configuration.steps))


def share_of_rate(step: int, warmup: int, steps: int) -> float:
    """Rises over the first `warmup` steps, then falls to 0 at the last; never 0 at the first."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return max(0.0, (steps - step) / max(1, steps - warmup))


class Precision:
    """Mixed precision: matrix products in the chosen format, weights and losses in fp32."""

    def __init__(self, name: str, device: torch.device) -> None:
        self.name = _choose(name, device)
        self._device = device.type
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.name == "fp16")
        """fp16 has a small range: the loss is scaled up, and a step whose gradients overflow is skipped."""

    @contextmanager
    def mixed(self) -> Iterator[None]:
        kind = TYPES.get(self.name)
        with torch.autocast(self._device, dtype=kind or torch.bfloat16, enabled=kind is not None):
            yield


def _choose(name: str, device: torch.device) -> str:
    if name == "auto":
        if device.type == "cpu":
            return "fp32"
        return "bf16" if torch.cuda.is_bf16_supported() else "fp16"
    if name == "fp16" and device.type == "cpu":
        raise SettingsError("precision fp16 needs a GPU; take bf16 or fp32 on a CPU")
    return name
