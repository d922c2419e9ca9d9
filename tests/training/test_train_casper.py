"""Whole runs on a tiny set: CASPER learns, goes on exactly where it stopped, and says how it came about."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from sciret.errors import SettingsError
from sciret.training.casper_folder import open_casper
from sciret.training.configuration import CasperTraining
from sciret.training.reading import Reader
from sciret.training.train_casper import train_casper
from sciret.training.trainer import Outcome, Trainer

from .conftest import TEXT, Make, WriteJsonl

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
WORDS = [word for word in TEXT.split() if not word.endswith("s")]  # plurals are the same keyphrase
Configure = Callable[..., CasperTraining]


@pytest.fixture
def configure(checkpoints: Make, write_jsonl: WriteJsonl, tmp_path: Path) -> Configure:
    """A configuration for eight triplets, with changes."""
    papers, triplets = write_jsonl("papers.jsonl", PAPERS), write_jsonl("triplets.jsonl", TRIPLETS)
    (tmp_path / "keyphrases.txt").write_text("\n".join(dict.fromkeys([*TOPICS, *QUERIES, *WORDS])), encoding="utf-8")
    base = CasperTraining(
        model=str(checkpoints("bert", hidden_dropout_prob=0.1)),
        papers=(str(papers),),
        triplets=str(triplets),
        keyphrases=str(tmp_path / "keyphrases.txt"),
        steps=6,
        batch=4,
        rate=3e-3,
        warmup=2,
        flops_steps=4,
        query_flops=1e-3,
        document_flops=1e-3,
        log_every=1,
        evaluate_every=2,
        checkpoint_every=2,
        query_length=12,
        document_length=24,
        active_keyphrases=16,
        keyphrase_bias=0.0,
    )
    return lambda **changes: replace(base, **changes)


def train(configuration: CasperTraining, out: Path, resume: bool = False) -> tuple[Outcome, list[dict[str, Any]]]:
    lines: list[dict[str, Any]] = []
    return train_casper(configuration, out, resume, lines.append), lines


def weights(run: Path) -> dict[str, torch.Tensor]:
    return open_casper(str(run)).casper.state_dict()


def log(run: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, (run / "log.jsonl").read_text(encoding="utf-8").splitlines())
    return [{name: value for name, value in line.items() if name != "seconds"} for line in lines]


@pytest.mark.parametrize(("architecture", "contrast"), [("bert", "decoupled"), ("distilbert", "unified")])
def test_a_tiny_set_is_learned_by_heart(
    configure: Configure, checkpoints: Make, tmp_path: Path, contrast: str, architecture: str
) -> None:
    """Loss goes to about 0, and every query, none of whose words are in its paper, finds it first."""
    model = str(checkpoints(architecture))
    configuration = configure(model=model, contrast=contrast, steps=120, batch=8, rate=1e-2, log_every=20)
    configuration = replace(configuration, checkpoint_every=120, evaluate_every=120)
    _, lines = train(configuration, tmp_path / "run")
    losses = [line["contrast"] for line in lines if "contrast" in line]
    assert losses[0] > 1
    assert losses[-1] < 0.05
    checkpoint = open_casper(str(tmp_path / "run"))
    casper = checkpoint.casper.eval()
    reader = Reader(checkpoint.tokenizer, 12, 24)
    queries = casper.encode_queries(*reader.queries(QUERIES))
    papers = casper.encode_papers(*reader.papers([(p["title"], p["abstract"]) for p in PAPERS]))
    scores = queries.tokens @ papers.tokens.T + 0.25 * queries.keyphrases @ papers.keyphrases.T
    assert scores.argmax(dim=1).tolist() == list(range(8))


def test_a_run_that_was_stopped_goes_on_bit_by_bit(
    configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With dropout, accumulation and a log between checkpoints; weights and log are those of a run without a stop."""
    configuration = configure(accumulation=2, log_every=3, steps=6, batch=2)
    train(configuration, tmp_path / "whole")
    advance = Trainer._advance

    def stopped(self: Trainer, batches: list[Any]) -> None:
        if self._progress.step == 5:
            raise KeyboardInterrupt
        advance(self, batches)

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_advance", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(configuration, tmp_path / "parts")
    assert not (tmp_path / "parts" / "model").exists()
    assert [path.name for path in sorted((tmp_path / "parts" / "checkpoints").glob("step-*"))] == [
        "step-00000002",
        "step-00000004",
    ]
    outcome, _ = train(configuration, tmp_path / "parts", resume=True)
    assert outcome.steps == 6
    torch.testing.assert_close(weights(tmp_path / "parts"), weights(tmp_path / "whole"), rtol=0, atol=0)
    assert log(tmp_path / "parts") == log(tmp_path / "whole")
    states = [
        torch.load(tmp_path / run / "checkpoints" / "step-00000006" / "state.pt", weights_only=True)
        for run in ("whole", "parts")
    ]
    torch.testing.assert_close(states[0], states[1], rtol=0, atol=0)


def test_a_finished_run_has_nothing_left_to_do(configure: Configure, tmp_path: Path) -> None:
    configuration = configure(steps=2)
    train(configuration, tmp_path / "run")
    before = weights(tmp_path / "run")
    outcome, lines = train(configuration, tmp_path / "run", resume=True)
    assert (outcome.steps, lines) == (2, [])
    torch.testing.assert_close(weights(tmp_path / "run"), before, rtol=0, atol=0)


def test_training_stops_when_the_held_out_loss_gets_worse(configure: Configure, tmp_path: Path) -> None:
    """The held-out set pairs queries with the wrong papers: what is learned makes it worse, and the best is kept."""
    rows = [{**row, "positive": f"p{(i + 5) % 8}"} if row["split"] == "dev" else row for i, row in enumerate(TRIPLETS)]
    configuration = configure(steps=200, batch=8, evaluate_every=5, patience=2, rate=1e-3, warmup=0)
    Path(configuration.triplets).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    outcome, lines = train(configuration, tmp_path / "run")
    held_out = {line["step"]: line["held_out"] for line in lines if "held_out" in line}
    assert outcome.steps == outcome.best_step + 10 < 200
    assert outcome.best == min(held_out.values()) == held_out[outcome.best_step]
    assert "no better" in outcome.stopped
    best = torch.load(tmp_path / "run" / "checkpoints" / "best.pt", weights_only=True)
    rows_of_best = best["casper.keyphrases.weight"]
    torch.testing.assert_close(weights(tmp_path / "run")["keyphrases.weight"], rows_of_best, rtol=0, atol=0)


def test_a_run_describes_itself(configure: Configure, tmp_path: Path) -> None:
    """Configuration, seed, data by hash, versions; the model repeats it, the log has every part."""
    configuration = configure(steps=2)
    train(configuration, tmp_path / "run")
    described = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert described["kind"] == "casper"
    assert described["configuration"]["seed"] == 1
    assert set(described["data"]) == {"papers.jsonl", "triplets.jsonl", "keyphrases.txt"}
    assert all(len(digest) == 64 for digest in described["data"].values())
    assert set(described["versions"]) == {"python", "torch", "transformers", "tokenizers", "numpy"}
    model = json.loads((tmp_path / "run" / "model" / "casper.json").read_text(encoding="utf-8"))
    assert model["provenance"]["data"] == described["data"]
    assert model["document_length"] == 24
    line = log(tmp_path / "run")[0]
    assert {"loss", "contrast", "flops", "query_tokens", "document_keyphrases", "gradient", "rate"} <= line.keys()
    assert (tmp_path / "run" / "curves.svg").read_text(encoding="utf-8").startswith("<svg")


def test_keyphrases_of_the_model_are_kept_and_others_refused(configure: Configure, tmp_path: Path) -> None:
    """A second training starts from the first's rows, as they are."""
    first = configure(steps=2)
    train(first, tmp_path / "first")
    second = configure(model=str(tmp_path / "first"), keyphrases="", steps=1, rate=1e-12)
    train(second, tmp_path / "second")
    torch.testing.assert_close(weights(tmp_path / "second"), weights(tmp_path / "first"))
    (tmp_path / "others.txt").write_text("sleep\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="has keyphrases of its own"):
        train(configure(model=str(tmp_path / "first"), keyphrases=str(tmp_path / "others.txt")), tmp_path / "third")
    with pytest.raises(SettingsError, match="--keyphrases"):
        train(configure(keyphrases=""), tmp_path / "fourth")


def test_an_encoder_without_a_head_is_trained_too(configure: Configure, checkpoints: Make, tmp_path: Path) -> None:
    """Its head is fitted first: before any training the words of a text weigh most in it."""
    model = str(checkpoints("bert", head=False))
    train(configure(model=model, steps=1, rate=1e-12), tmp_path / "run")
    checkpoint = open_casper(str(tmp_path / "run"))
    texts = Reader(checkpoint.tokenizer, 12, 24).queries(["coral reef bird song"])
    found = checkpoint.casper.eval().encode_queries(*texts).tokens[0].topk(4).indices.tolist()
    pieces = checkpoint.tokenizer.convert_ids_to_tokens(found)
    assert set(pieces) == {"coral", "reef", "bird", "song"}


def test_a_folder_in_use_is_refused_and_changed_data_too(configure: Configure, tmp_path: Path) -> None:
    configuration = configure(steps=1)
    train(configuration, tmp_path / "run")
    with pytest.raises(SettingsError, match="--resume"):
        train(configuration, tmp_path / "run")
    Path(configuration.papers[0]).write_text(json.dumps(PAPERS[0]) + "\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"papers\.jsonl is not what the run began with"):
        train(configuration, tmp_path / "run", resume=True)
    with pytest.raises(SettingsError, match="no run to go on with"):
        train(configuration, tmp_path / "none", resume=True)


@pytest.mark.parametrize("kind", ["margin-mse", "kl"])
def test_a_teachers_scores_are_learned(configure: Configure, tmp_path: Path, kind: str) -> None:
    """From the scores of the triplets file: the part of the loss falls."""
    changes = {
        "distillation": kind,
        "temperature": 0.1,
        "negatives": 2,
        "steps": 30,
        "batch": 8,
        "checkpoint_every": 99,
    }
    _, lines = train(configure(**changes, evaluate_every=500), tmp_path / "run")
    losses = [line["distillation"] for line in lines if "distillation" in line]
    assert losses[-1] < 0.6 * losses[0]


def test_recomputing_and_chunks_train_the_same(configure: Configure, tmp_path: Path) -> None:
    """They trade time for memory and nothing else, dropout included."""
    train(configure(steps=2), tmp_path / "plain")
    train(configure(steps=2, recompute=True, chunk=3), tmp_path / "thrifty")
    for plain, thrifty in zip(log(tmp_path / "plain"), log(tmp_path / "thrifty"), strict=True):
        assert plain == pytest.approx(thrifty, rel=1e-4)


def test_bf16_trains_on_a_cpu_too(configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without oneDNN, which uses tile instructions wherever a CPU has them, also where the system forbids them."""
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    _, lines = train(configure(steps=2, precision="bf16"), tmp_path / "run")
    assert all(line["loss"] == line["loss"] for line in lines if "loss" in line)
    assert weights(tmp_path / "run")["keyphrases.weight"].dtype == torch.float32
    with pytest.raises(SettingsError, match="needs a GPU"):
        train(configure(precision="fp16"), tmp_path / "other")
