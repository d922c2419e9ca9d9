"""`sciret train mlm` and `sciret train casper`: from files to a model, by the command line alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from sciret.cli.main import cli

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TEXT = "a study of coral reef ocean neural network data steel fatigue crack bird song music and new results"
TOPICS = {"coral reef": "ocean", "neural network": "data", "steel fatigue": "crack", "bird song": "music"}
FEW = ["--steps", "2", "--batch", "4", "--set", "log_every=1", "--set", "evaluate_every=1"]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="sciret")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A tiny language model, papers, triplets and keyphrases."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    vocabulary = {word: number for number, word in enumerate((*SPECIAL, *dict.fromkeys(TEXT.split())))}
    tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token=SPECIAL[1]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {f"{name[1:-1].lower()}_token": name for name in SPECIAL}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)  # type: ignore[no-untyped-call]
    fast.save_pretrained(tmp_path / "tiny")
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(vocabulary), **size)  # type: ignore[no-untyped-call]
    BertForMaskedLM(config).save_pretrained(tmp_path / "tiny")  # type: ignore[no-untyped-call]
    papers = [
        {"id": f"{t}{i}", "title": f"a study of {t}", "abstract": f"new results of {c}"}
        for t, c in TOPICS.items()
        for i in range(3)
    ]
    rows = [
        {"source": "titles", "query": clue, "positive": f"{topic}0", "negatives": ["bird song1"], "split": split}
        for split in ("train", "dev")
        for topic, clue in TOPICS.items()
    ]
    for name, records in (("papers.jsonl", papers), ("triplets.jsonl", rows)):
        (tmp_path / name).write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    (tmp_path / "keyphrases.txt").write_text("\n".join(TOPICS) + "\n", encoding="utf-8")
    yield tmp_path
    torch.set_num_threads(threads)


def test_pretraining_then_casper_then_on_with_it(place: Path) -> None:
    """Progress goes to stderr, the result to stdout; --resume finds nothing left to do."""
    common = ["--papers", str(place / "papers.jsonl"), *FEW]
    made = run(
        "train", "mlm", place / "mlm", "--model", place / "tiny", "--keyphrases", place / "keyphrases.txt", *common
    )
    assert made.exit_code == 0, made.output
    assert "step       2" in made.stderr
    assert f"model      {place / 'mlm' / 'model'}" in made.stdout
    trained = run(
        "train", "casper", place / "casper", "--model", place / "mlm", "--triplets", place / "triplets.jsonl", *common,
        "--json",
    )  # fmt: skip
    assert trained.exit_code == 0, trained.output
    assert json.loads(trained.stdout)["steps"] == 2
    assert json.loads(trained.stderr.splitlines()[0])["step"] == 1
    again = run("train", "casper", place / "casper", "--resume", "--json")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout) == json.loads(trained.stdout)


def test_a_configuration_file_is_read(place: Path) -> None:
    toml = (
        f'model = "{place}/tiny"\npapers = ["{place}/papers.jsonl"]\nkeyphrases = "{place}/keyphrases.txt"\nbatch = 4\n'
    )
    (place / "mlm.toml").write_text(toml, encoding="utf-8")
    assert run("train", "mlm", place / "run", "--config", place / "mlm.toml", "--steps", "1").exit_code == 0
    described = json.loads((place / "run" / "run.json").read_text(encoding="utf-8"))
    assert (described["configuration"]["batch"], described["configuration"]["steps"]) == (4, 1)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--resume"], "no run to go on with"),
        (["--resume", "--steps", "5"], "leave the other options out"),
        (["--model", "m"], "papers, triplets must be given"),
        (["--model", "m", "--papers", "none.jsonl", "--triplets", "t.jsonl"], "none.jsonl: no such file"),
        (["--set", "speed=9"], "there is no speed"),
    ],
)
def test_wrong_usage_is_told_in_a_line(tmp_path: Path, arguments: list[str], reason: str) -> None:
    result = run("train", "casper", tmp_path / "run", *arguments)
    assert result.exit_code == 2
    assert reason in result.stderr
    assert not (tmp_path / "run").exists()
