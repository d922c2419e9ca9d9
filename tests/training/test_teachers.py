"""Teachers give a score to each pair: those of the file, a dense bundle's cosines, a cross-encoder's odds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from sciret.encoders.encoder import Encoder
from sciret.errors import SettingsError
from sciret.paper import Paper
from sciret.training.prepared import Prepared, prepare
from sciret.training.schedule import Drawn, draw
from sciret.training.teachers import CrossEncoder, DenseTeacher, GivenScores, encode_for_teacher

from .conftest import Make, WriteJsonl, tiny_network, tiny_tokenizer

PAPERS = [
    {"id": "p0", "title": "Sleep and memory", "abstract": "Sleep helps infants remember words."},
    {"id": "p1", "title": "Fatigue of steel", "abstract": "Cracks grow in welded steel beams."},
    {"id": "p2", "title": "Coral reefs"},
]


@pytest.fixture
def data(tmp_path: Path, write_jsonl: WriteJsonl) -> Prepared:
    rows = [
        {"source": "title", "query": "do children learn while asleep", "positive": "p0", "negatives": ["p1", "p2"]},
        {"source": "title", "query": "crack growth in metal", "positive": "p1", "negatives": ["p2", "p0"]},
    ]
    return prepare(write_jsonl("t.jsonl", rows), [write_jsonl("p.jsonl", PAPERS)], tmp_path / "data")


@pytest.fixture
def drawn(data: Prepared) -> Drawn:
    return draw(data, np.arange(2), 2, seed=1, passed=0)


def test_a_dense_teacher_gives_the_cosines_of_its_bundle(data: Prepared, drawn: Drawn, tmp_path: Path) -> None:
    """Those that a search by the shipped bundle would give, up to fp16; and positives are nearest."""
    encoder = Encoder.open("default", threads=1)
    encode_for_teacher(data, encoder, tmp_path / "teacher")
    scores = DenseTeacher(tmp_path / "teacher").scores(drawn)
    assert scores.shape == (2, 3)
    assert (scores.argmax(axis=1) == 0).all()
    (paper,) = encoder.encode_papers([Paper("p0", str(PAPERS[0]["title"]), str(PAPERS[0]["abstract"]))])
    query = encoder.encode_query("do children learn while asleep")
    assert paper.dense is not None
    assert query.dense is not None
    assert scores[0, 0] == pytest.approx(float(query.dense @ paper.dense), abs=2e-3)


@pytest.mark.parametrize("classes", [1, 2])
def test_a_cross_encoder_reads_query_and_paper_together(
    data: Prepared, drawn: Drawn, tmp_path: Path, classes: int
) -> None:
    """Its score is the logit of the one class, or the odds of the second of two."""
    network = tiny_network("bert", AutoModelForSequenceClassification, num_labels=classes)
    network.save_pretrained(tmp_path / "cross")
    tiny_tokenizer().save_pretrained(tmp_path / "cross")
    teacher = CrossEncoder(str(tmp_path / "cross"), data, torch.device("cpu"), length=32)
    scores = teacher.scores(drawn)
    text = " ".join(filter(None, data.papers[int(drawn.negatives[1, 0])]))
    inputs = tiny_tokenizer()("crack growth in metal", text, return_tensors="pt", truncation=True, max_length=32)
    with torch.no_grad():
        logits = network.eval()(**inputs).logits[0]  # type: ignore[no-untyped-call]
    expected = logits[0] if classes == 1 else logits[1] - logits[0]
    assert scores[1, 1] == pytest.approx(expected.item(), abs=1e-4)


def test_what_is_no_teacher_is_refused(data: Prepared, checkpoints: Make, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no line of the triplets has scores"):
        GivenScores(data)
    network = tiny_network("bert", AutoModelForSequenceClassification, num_labels=3)
    network.save_pretrained(tmp_path / "three")
    tiny_tokenizer().save_pretrained(tmp_path / "three")
    with pytest.raises(SettingsError, match="3 classes"):
        CrossEncoder(str(tmp_path / "three"), data, torch.device("cpu"), 32)
