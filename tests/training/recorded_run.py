"""A short run that also writes the gradients of every step: in a test's own process, or in several of its own.

python recorded_run.py PROCESSES MODEL FOLDER OUT BATCH
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from sciret.training.configuration import CasperTraining
from sciret.training.train_casper import train_casper


def main(model: str, folder: str, out: str, batch: int) -> None:
    configuration = CasperTraining(
        model=model,
        papers=(f"{folder}/papers.jsonl",),
        triplets=f"{folder}/triplets.jsonl",
        keyphrases=f"{folder}/keyphrases.txt",
        steps=3,
        batch=batch,
        accumulation=2,
        rate=1e-3,
        warmup=0,
        clip=100.0,
        negatives=1,
        flops_steps=1,
        query_flops=0.1,
        document_flops=0.1,
        distillation="kl",
        query_length=12,
        document_length=24,
        active_keyphrases=9,
        keyphrase_bias=0.0,
        log_every=1,
        evaluate_every=1,
        checkpoint_every=2,
    )
    gradients: list[list[torch.Tensor]] = []

    def record(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        gradients.append([parameter.grad.clone() for parameter in parameters])

    handle = register_optimizer_step_pre_hook(record)
    try:
        train_casper(configuration, Path(out), False, lambda _: None)
    finally:
        handle.remove()
    torch.save(gradients, f"{out}/gradients-{os.environ.get('RANK', '0')}.pt")


if __name__ == "__main__":
    torch.set_num_threads(1)
    # Forked after the imports, which take most of the time, and before anything was computed, when it is safe.
    started = []
    for rank in range(int(sys.argv[1])):
        started.append(os.fork())
        if started[-1] == 0:
            os.environ |= {"WORLD_SIZE": sys.argv[1], "RANK": str(rank), "LOCAL_RANK": str(rank)}
            main(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
            sys.stdout.flush()
            os._exit(0)
    for _ in range(len(started)):
        done, status = os.wait()
        started.remove(done)
        if status:  # the others would wait for it
            for other in started:
                os.kill(other, signal.SIGKILL)
            sys.exit(1)
