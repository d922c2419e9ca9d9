"""Two processes, as torchrun starts them, compute what one process with the whole batch does."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from sciret.errors import SettingsError
from sciret.training.processes import gather, joined

from .conftest import Make, WriteJsonl
from .recorded_run import main

WORDS = [
    "coral reef",
    "neural network",
    "infant sleep",
    "steel fatigue",
    "bird song",
    "peat bog",
    "galaxy dust",
    "laser",
]


@pytest.fixture
def folder(tmp_path: Path, write_jsonl: WriteJsonl) -> Path:
    write_jsonl(
        "papers.jsonl", [{"id": f"p{i}", "title": f"a {w}", "abstract": f"data of {w}"} for i, w in enumerate(WORDS)]
    )
    rows = [
        {"source": "title", "query": w, "positive": f"p{i}", "negatives": [f"p{(i + 1) % 8}"], "weight": 1.0 + i % 3}
        for i, w in enumerate(WORDS)
    ]
    scored = [{**row, "scores": [1.0, 0.1 * i]} for i, row in enumerate(rows)]
    write_jsonl("triplets.jsonl", [*scored, *({**row, "split": "dev"} for row in scored)])
    (tmp_path / "keyphrases.txt").write_text("\n".join(WORDS), encoding="utf-8")
    return tmp_path


def run(world: int, *arguments: object) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    command = [sys.executable, str(Path(__file__).with_name("recorded_run.py")), str(world), *map(str, arguments)]
    done = subprocess.run(command, env={**os.environ, **place}, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_two_processes_give_the_gradients_of_one_with_the_whole_batch(checkpoints: Make, folder: Path) -> None:
    """Contrast over all, FLOPS, distillation, weights and accumulation; both have the same gradients and weights, the
    held-out loss is the same, and the run goes on with as many processes only."""
    model = checkpoints("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    main(str(model), str(folder), str(folder / "one"), 4)
    run(2, model, folder, folder / "two", 2)
    one = torch.load(folder / "one" / "gradients-0.pt", weights_only=True)
    for rank in (0, 1):
        two = torch.load(folder / "two" / f"gradients-{rank}.pt", weights_only=True)
        assert len(two) == len(one) == 3
        torch.testing.assert_close(two[0], one[0], rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(two[2], one[2], rtol=1e-2, atol=1e-3)  # after two steps of Adam
    lines = [
        [json.loads(line) for line in (folder / name / "log.jsonl").read_text(encoding="utf-8").splitlines()]
        for name in ("one", "two")
    ]
    for of_one, of_two in zip(*lines, strict=True):
        of_two["seconds"] = of_one["seconds"]
        assert of_two == pytest.approx(of_one, rel=1e-3)
    assert any("held_out" in line for line in lines[0])
    state = torch.load(folder / "two" / "checkpoints" / "step-00000003" / "state.pt", weights_only=True)
    assert state["world"] == 2
    assert (folder / "two" / "checkpoints" / "step-00000003" / "random-1.pt").is_file()


def test_the_documented_command_trains_on_two_processes(checkpoints: Make, folder: Path) -> None:
    """`torchrun --nproc-per-node 2 -m sciret.cli.main train casper OUT --config FILE`: one says what came of it."""
    (folder / "casper.toml").write_text(
        f'model = "{checkpoints("bert")}"\npapers = ["{folder}/papers.jsonl"]\ntriplets = "{folder}/triplets.jsonl"\n'
        f'keyphrases = "{folder}/keyphrases.txt"\ndevice = "cpu"\nsteps = 2\nbatch = 2\nlog_every = 1\n'
        "query_length = 12\ndocument_length = 24\nactive_keyphrases = 4\n",
        encoding="utf-8",
    )
    # --standalone finds a port of its own, so that tests can run side by side.
    torchrun = [str(Path(sys.executable).with_name("torchrun")), "--standalone", "--nproc-per-node", "2"]
    arguments = ["train", "casper", str(folder / "run"), "--config", str(folder / "casper.toml")]
    command = [*torchrun, "-m", "sciret.cli.main", *arguments]
    surroundings = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=surroundings, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().count("all steps done") == 1
    assert json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))["processes"] == 2
    assert {"casper.json", "casper.safetensors", "model.safetensors", "tokenizer.json"} <= {
        path.name for path in (folder / "run" / "model").iterdir()
    }


def test_alone_everything_is_ones_own() -> None:
    part = torch.ones(2, 3, requires_grad=True)
    with joined("cpu") as processes:
        assert (processes.rank, processes.world, processes.leads) == (0, 1, True)
        assert gather(part) is part


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(SettingsError, match="--device cpu"), joined("cuda"):
        pass
    with pytest.raises(SettingsError, match="there are auto, cpu, cuda"), joined("tpu"):
        pass
