"""Pretraining on a few papers: keyphrases become guessable, a stopped run goes on exactly, CASPER starts from it."""

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
from sciret.training.configuration import MaskedTraining
from sciret.training.train_mlm import train_mlm

from .conftest import Make, WriteJsonl
from .tiny_runs import assert_goes_on

TOPICS = {"coral reef": "ocean", "neural network": "data", "steel fatigue": "crack", "bird song": "music"}
Configure = Callable[..., MaskedTraining]


@pytest.fixture
def configure(checkpoints: Make, write_jsonl: WriteJsonl, tmp_path: Path) -> Configure:
    """Papers in which a word tells which phrase is hidden."""
    rows = [
        {"id": f"{topic}{i}", "title": f"a study of {topic}", "abstract": f"{clue} {clue} and {topic} of {clue}"}
        for topic, clue in TOPICS.items()
        for i in range(5)
    ]
    (tmp_path / "keyphrases.txt").write_text("\n".join(TOPICS) + "\n", encoding="utf-8")
    base = MaskedTraining(
        model=str(checkpoints("bert", hidden_dropout_prob=0.1)),
        papers=(str(write_jsonl("papers.jsonl", rows)),),
        keyphrases=str(tmp_path / "keyphrases.txt"),
        steps=4,
        batch=6,
        rate=3e-3,
        warmup=2,
        length=24,
        log_every=1,
        evaluate_every=2,
        checkpoint_every=2,
    )
    return lambda **changes: replace(base, **changes)


def train(configuration: MaskedTraining, out: Path, resume: bool = False) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    train_mlm(configuration, out, resume, lines.append)
    return lines


def named(run: Path, text: str, position: int) -> str:
    """The keyphrase that weighs most at a position of a text."""
    checkpoint = open_casper(str(run))
    encoded = checkpoint.tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        states = checkpoint.casper.eval().backbone(encoded["input_ids"], encoded["attention_mask"])
        best = checkpoint.casper.keyphrases(states[0, position]).argmax().item()
    return checkpoint.keyphrases[int(best)]


def test_hidden_phrases_come_to_be_named_by_their_keyphrases(configure: Configure, tmp_path: Path) -> None:
    """From the words around them."""
    configuration = configure(steps=80, rate=1e-2, log_every=10, evaluate_every=80, checkpoint_every=80)
    lines = [line for line in train(configuration, tmp_path / "run") if "phrases_right" in line]
    assert lines[0]["phrases_right"] < 0.6
    assert lines[-1]["phrases_right"] > 0.9
    for phrase, clue in TOPICS.items():
        assert named(tmp_path / "run", f"{clue} {clue} and [MASK] [MASK] of {clue}", 4) == phrase


def test_phrases_that_can_be_read_are_named_too(configure: Configure, tmp_path: Path) -> None:
    """Where papers give no clue but the phrase itself, and it is not hidden."""
    configuration = configure(steps=60, rate=1e-2, evaluate_every=60, checkpoint_every=60)
    configuration = replace(configuration, phrases_masked=1.0, visible=1.0, words_masked=0.05)
    rows = [{"id": f"{topic}{i}", "title": f"a study of {topic}"} for topic in TOPICS for i in range(5)]
    Path(configuration.papers[0]).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    train(configuration, tmp_path / "run")
    for phrase in TOPICS:
        assert named(tmp_path / "run", f"a study of {phrase}", 4) == phrase


def test_a_run_that_was_stopped_goes_on_bit_by_bit(configure: Configure, tmp_path: Path) -> None:
    configuration = configure()
    assert_goes_on(lambda out, resume: train(configuration, out, resume), tmp_path, stop=3)


def test_the_result_says_that_it_is_pretrained(configure: Configure, tmp_path: Path) -> None:
    train(configure(steps=1), tmp_path / "run")
    description = json.loads((tmp_path / "run" / "model" / "casper.json").read_text(encoding="utf-8"))
    assert description["provenance"]["kind"] == "mlm"
    assert set(description["provenance"]["data"]) == {"papers.jsonl", "keyphrases.txt"}


def test_too_few_papers_are_refused(configure: Configure, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="18 papers to train on are fewer than one batch of 19"):
        train(configure(batch=19), tmp_path / "run")
