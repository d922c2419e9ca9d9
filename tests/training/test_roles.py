"""Labelled abstracts become a role classifier inside a bundle that stays valid."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from sciret.encoders.bundle import ROLES, SHIPPED, load_bundle
from sciret.encoders.encoder import Encoder
from sciret.encoders.roles import RoleClassifier
from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.training.roles import NAMES, main, measure, read_abstracts

TOPICS = ("river floods", "bird song", "sorting algorithms", "steel fatigue", "infant sleep", "peat bogs")
PHRASES = {
    "background": "Much is known about {}, but little about its causes.",
    "objective": "Here we ask what determines {}.",
    "method": "We measured {} on ten occasions with a calibrated instrument.",
    "result": "We found that {} increased by twelve percent.",
}


def abstract(split: str, topic: str) -> dict[str, Any]:
    return {"split": split, "sentences": [p.format(topic) for p in PHRASES.values()], "labels": list(PHRASES)}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "labelled.jsonl.gz"
    splits = ("train", "train", "train", "train", "dev", "test")
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for split, topic in zip(splits, TOPICS, strict=True):
            file.write(json.dumps(abstract(split, topic)) + "\n")
    return path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHIPPED / "default", tmp_path / "bundle"))


def test_training_puts_a_classifier_into_the_bundle(data: Path, bundle: Path) -> None:
    """The command, whole: the bundle verifies, its fingerprint is the same, encoders give roles, figures are kept."""
    before = load_bundle(str(bundle))
    outcome = CliRunner().invoke(main, [str(data), str(bundle)])
    assert outcome.exit_code == 0, outcome.output
    after = load_bundle(str(bundle))
    assert after.fingerprint == before.fingerprint
    assert after.files[ROLES] != before.files.get(ROLES)
    assert after.provenance["roles"]["test"] == json.loads(outcome.output)["test"]
    sentences = tuple(abstract("", "coastal erosion")["sentences"])
    (encoded,) = Encoder.open(str(bundle)).encode_papers([Paper("1", "Coasts", " ".join(sentences), sentences)])
    assert encoded.roles == tuple(PHRASES)


def test_measures_are_the_usual_ones() -> None:
    """Three of four right; a role that never occurs counts as 0 in the mean, as it would elsewhere."""
    constant = RoleClassifier(
        NAMES,
        scale=np.ones(2, dtype=np.float32),
        weights=np.zeros((18, 5), dtype=np.float32),
        bias=np.array([0, 0, 1, 0, 0], dtype=np.float32),
        transitions=np.zeros((5, 5), dtype=np.float32),
    )
    figures = measure(constant, [(np.array([2, 2, 2, 3]), np.ones((4, 2), dtype=np.float32))])
    assert figures["accuracy"] == 0.75
    assert figures["f1"] == {"background": 0, "objective": 0, "method": 0.8571, "result": 0, "other": 0}
    assert figures["macro_f1"] == 0.1714


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        '{"split": "train", "sentences": ["a"]}',
        '{"split": "train", "sentences": ["a"], "labels": ["conclusion"]}',
        '{"split": "train", "sentences": ["a", "b"], "labels": ["method"]}',
        '{"split": "later", "sentences": ["a"], "labels": ["method"]}',
        '{"split": "train", "sentences": [], "labels": []}',
    ],
)
def test_an_unusable_line_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(abstract("train", "tides")) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(RecordError, match=r"data\.jsonl:2"):
        list(read_abstracts(path))
