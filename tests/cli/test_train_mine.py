"""`sciret train mine`."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from sciret.cli.train_mine import SOURCES, mine
from sciret.training import mined_examples
from sciret.training.mining_config import MiningConfig

PAPERS = Path(__file__).parent / "papers.jsonl"
Sciret = Callable[..., Result]
Write = Callable[[Path, Iterable[Mapping[str, Any]]], Path]


def triplets(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_sources_are_those_of_the_miner() -> None:
    """Written twice so that --help imports no numpy."""
    assert SOURCES == mined_examples.SOURCES


def test_options_have_the_defaults_of_the_configuration() -> None:
    given = mine.make_context("mine", ["--corpus", "x", "--out", "y.jsonl"]).params
    config = MiningConfig(corpus=(str(PAPERS),))
    for name in ("negatives", "depth", "dev_share", "seed", "title_only"):
        assert given[name] == getattr(config, name)


def test_triplets_and_manifest(sciret: Sciret, tmp_path: Path, write_jsonl: Write) -> None:
    contexts = write_jsonl(
        tmp_path / "contexts.jsonl",
        [{"citing": "x", "context": "Bees tell each other where flowers are [CITE].", "cited": [{"id": "bee"}]}],
    )
    out = tmp_path / "t.jsonl.gz"
    result = sciret(
        "train", "mine", "--corpus", PAPERS, "--contexts", contexts, "--out", out, "--negatives", "3", "--dev", "0",
        "--weight", "contexts=2", "--cap", "titles=5", "--cap", "keyphrases=0",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    rows = triplets(out)
    assert [row["source"] for row in rows] == ["titles"] * 5 + ["contexts"]
    assert (rows[-1]["positive"], rows[-1]["weight"], len(rows[-1]["negatives"])) == ("bee", 2.0, 3)
    assert result.stdout.startswith(f"{out}: 6 triplets\n")
    assert "  contexts: 1 train, 0 dev, of 1\n" in result.stdout
    manifest = json.loads((tmp_path / "t.manifest.json").read_text(encoding="utf-8"))
    assert manifest["counts"]["titles"]["triplets"] == 5


def test_negatives_by_the_model_of_a_store(sciret: Sciret, filled: Path, tmp_path: Path) -> None:
    """The manifest names the model."""
    out = tmp_path / "t.jsonl.gz"
    result = sciret(
        "train", "mine", "--corpus", PAPERS, "--model-store", filled, "--out", out, "--negatives", "2", "--json"
    )
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["model"]) == 64
    assert all(len(row["negatives"]) == 2 for row in triplets(out))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "t.jsonl"], "--corpus"),
        (["--corpus", "missing.jsonl", "--out", "t.jsonl"], "no such file"),
        (["--corpus", str(PAPERS), "--out", "nowhere/t.jsonl"], "no folder nowhere"),
        (["--corpus", str(PAPERS), "--out", "t.jsonl", "--cap", "title=1"], "the sources are"),
        (["--corpus", str(PAPERS), "--out", "t.jsonl", "--cap", "titles=many"], "SOURCE=NUMBER"),
        (["--corpus", str(PAPERS), "--out", "t.jsonl", "--weight", "titles=0"], "above 0"),
        (["--corpus", str(PAPERS), "--out", "t.jsonl", "--model", "default"], "--model-store"),
        (["--corpus", str(PAPERS), "--out", "t.jsonl", "--contexts", "missing.jsonl"], "missing.jsonl"),
    ],
)
def test_what_cannot_be_is_refused_at_once(sciret: Sciret, arguments: list[str], message: str) -> None:
    result = sciret("train", "mine", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not Path("t.work").exists()


def test_a_store_that_another_model_filled_is_refused(sciret: Sciret, tmp_path: Path) -> None:
    from sciret.embedded.store import EmbeddedStore
    from sciret.encoded import EncodedPaper
    from sciret.paper import Paper

    with EmbeddedStore.open(tmp_path / "other.db", create=True) as store:
        store.write([EncodedPaper(Paper("a", "Title"), "other", sentences=("Title",))])
    result = sciret("train", "mine", "--corpus", PAPERS, "--model-store", tmp_path / "other.db", "--out", "t.jsonl")
    assert result.exit_code == 1
    assert "another" in result.stderr or "filled by" in result.stderr
