"""Whole runs on a tiny set: CASPER learns, goes on exactly where it stopped, and says how it came about."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sciret.errors import SettingsError
from sciret.training.casper_folder import open_casper
from sciret.training.reading import Reader

from .conftest import Make
from .tiny_runs import PAPERS, QUERIES, TRIPLETS, Configure, assert_goes_on, log, train, weights


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


def test_a_run_that_was_stopped_goes_on_bit_by_bit(configure: Configure, tmp_path: Path) -> None:
    """With dropout and accumulation."""
    configuration = configure(accumulation=2, log_every=3, steps=6, batch=2)
    assert_goes_on(lambda out, resume: train(configuration, out, resume), tmp_path, stop=5)


def test_a_run_in_mixed_precision_goes_on_bit_by_bit(
    configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without oneDNN, which uses tile instructions wherever a CPU has them, also where the system forbids them."""
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    configuration = configure(log_every=3, steps=4, batch=2, precision="bf16")
    assert_goes_on(lambda out, resume: train(configuration, out, resume), tmp_path, stop=3)


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
