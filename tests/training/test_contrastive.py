"""Trainings of other kinds: from an earlier run, from an encoder without a head, with a teacher, in less memory."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sciret.errors import SettingsError
from sciret.training.backbone import load_tokenizer
from sciret.training.casper_folder import open_casper
from sciret.training.contrastive import ContrastiveStep
from sciret.training.prepared import prepare
from sciret.training.processes import Processes
from sciret.training.reading import Reader
from sciret.training.train_casper import CasperTask

from .conftest import Make
from .tiny_runs import Configure, log, train, weights


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


def test_papers_that_a_title_asks_for_are_read_without_it(configure: Configure, tmp_path: Path) -> None:
    """Of both sources, in one batch: whether the title's words are among what is read, of positive and negative."""
    configuration = configure(abstracts_only=("citation",), steps=1)
    data = prepare(Path(configuration.triplets), [Path(p) for p in configuration.papers], tmp_path / "data")
    tokenizer = load_tokenizer(configuration.model)
    step = ContrastiveStep(None, configuration)  # type: ignore[arg-type]
    alone = Processes(0, 1, torch.device("cpu"))
    for rows, titled in ((configuration, False), (configure(abstracts_only=()), True)):
        task = CasperTask(step, data, Reader(tokenizer, 12, 24), rows, alone, None)
        texts = tokenizer.batch_decode(task.batch(0).documents.ids)
        assert [("a study of" in text) for text in texts] == [titled] * 8


def test_texts_longer_than_the_model_reads_are_refused_before_training(configure: Configure, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="reads at most 66 tokens"):
        train(configure(document_length=67), tmp_path / "run")
    train(configure(steps=1), tmp_path / "run")  # what never began is no obstacle
    with pytest.raises(SettingsError, match="--resume"):
        train(configure(steps=1), tmp_path / "run")
