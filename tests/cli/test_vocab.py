"""`sciret vocab build` and `sciret vocab inspect`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from sciret.encoders.phrases import load_phrases

Sciret = Callable[..., Result]
Write = Callable[[Path, Iterable[Mapping[str, Any]]], Path]

TERMS = ("gene regulation", "graph partitioning", "synaptic plasticity", "speech synthesis")


@pytest.fixture
def corpus(tmp_path: Path, write_jsonl: Write) -> Path:
    rows = [
        {"id": f"{number}", "title": f"On {TERMS[number % 4]}", "abstract": f"It is about {TERMS[number % 4]} too."}
        for number in range(12)
    ]
    return write_jsonl(tmp_path / "papers.jsonl", rows)


def test_build_writes_a_vocabulary(sciret: Sciret, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "keyphrases.txt"
    result = sciret("vocab", "build", corpus, "--size", "3", "--out", out)
    assert result.exit_code == 0, result.output
    assert len(load_phrases(out)) == 3
    assert set(load_phrases(out)) < set(TERMS)
    assert result.stdout.startswith(f"{out}: 3 phrases of 4 terms\n")
    assert "12 papers" in result.stdout


def test_build_as_json_tells_every_group(sciret: Sciret, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "keyphrases.txt"
    result = sciret("vocab", "build", f"one={corpus}", f"two={corpus}", "--out", out, "--json")
    record = json.loads(result.stdout)
    assert (record["phrases"], [group["group"] for group in record["groups"]]) == (4, ["one", "two"])
    assert record["groups"][0]["papers_with"]["1"] == 1.0
    assert "only 4 terms" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "--out", "k.txt"], "stdin"),
        (["missing.jsonl", "--out", "k.txt"], "no such file"),
        (["papers.jsonl", "--out", "nowhere/k.txt"], "no folder nowhere"),
        (["papers.jsonl"], "--out"),
        (["papers.jsonl", "--out", "k.txt", "--size", "0"], "--size"),
    ],
)
def test_build_refuses_what_cannot_be(sciret: Sciret, corpus: Path, arguments: list[str], message: str) -> None:
    result = sciret("vocab", "build", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not Path("k.txt").exists()


def test_inspect_shows_a_vocabulary_and_its_coverage(sciret: Sciret, corpus: Path, tmp_path: Path) -> None:
    vocabulary = tmp_path / "k.txt"
    vocabulary.write_text("gene regulation\ngene\nunused phrase\n", encoding="utf-8")
    record = json.loads(sciret("vocab", "inspect", vocabulary, "--source", corpus, "--json").stdout)
    assert (record["phrases"], record["words"], record["within"]) == (3, {"1": 1, "2": 2}, 1)
    source = record["sources"][0]
    assert (source["papers"], source["papers_with"]["1"], source["unused"]) == (12, 0.25, 1)
    shown = sciret("vocab", "inspect", vocabulary, "--source", corpus).stdout
    assert "in no paper: 1 phrases" in shown
    assert "gene regulation" in shown


def test_inspect_names_the_line_that_is_wrong(sciret: Sciret, tmp_path: Path) -> None:
    vocabulary = tmp_path / "k.txt"
    vocabulary.write_text("data set\ngene\ndatasets\n", encoding="utf-8")
    result = sciret("vocab", "inspect", vocabulary)
    assert result.exit_code == 1
    assert f"{vocabulary}:3" in result.stderr
    assert "line 1" in result.stderr


def test_inspect_of_what_is_not_there(sciret: Sciret) -> None:
    result = sciret("vocab", "inspect", "missing.txt")
    assert result.exit_code == 2
    assert "missing.txt" in result.stderr
