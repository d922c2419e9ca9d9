"""Whole runs of the anchored head on a tiny set, on states of a real graph."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from sciret.encoders.bundle import TOKENIZER, load_bundle
from sciret.errors import SettingsError
from sciret.onnx_export.export import export_bundle
from sciret.training import anchored
from sciret.training import train_anchored as train_anchored_module
from sciret.training.configuration import AnchoredTraining
from sciret.training.run_folder import RunFolder
from sciret.training.states import Texts, content_pieces
from sciret.training.train_anchored import KIND, open_head, train_anchored
from sciret.training.trainer import Outcome

from .conftest import TEXT, Make, WriteJsonl, tiny_tokenizer
from .tiny_runs import PAPERS, QUERIES, TOPICS, TRIPLETS, assert_goes_on

Configure = Callable[..., AnchoredTraining]


@pytest.fixture(scope="module")
def encoder(checkpoints: Make, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A bundle with both graphs, exported once."""
    out = tmp_path_factory.mktemp("dense") / "bundle"
    export_bundle(str(checkpoints("bert", head=False)), out, name="tiny", licence="CC0-1.0", max_length=40)
    return str(out)


@pytest.fixture
def configure_head(encoder: str, write_jsonl: WriteJsonl, tmp_path: Path) -> Configure:
    papers = write_jsonl("papers.jsonl", PAPERS)
    triplets = write_jsonl("triplets.jsonl", [{**row, "negatives": [], "scores": []} for row in TRIPLETS])
    singular = [word for word in TEXT.split() if not word.endswith("s")]
    keyphrases = tmp_path / "keyphrases.txt"
    keyphrases.write_text("\n".join(dict.fromkeys([*TOPICS, *QUERIES, *singular])) + "\n", encoding="utf-8")
    base = AnchoredTraining(
        model=encoder,
        papers=(str(papers),),
        triplets=str(triplets),
        keyphrases=str(keyphrases),
        steps=6,
        batch=4,
        rate=1e-2,
        warmup=2,
        flops_steps=4,
        log_every=3,
        evaluate_every=2,
        checkpoint_every=2,
        pool=8,
        hardest=3,
        chance_columns=16,
        hidden=16,
    )
    return lambda **changes: replace(base, **changes)


def train(configuration: AnchoredTraining, out: Path, resume: bool = False) -> tuple[Outcome, list[dict[str, Any]]]:
    lines: list[dict[str, Any]] = []
    return train_anchored(configuration, out, resume, lines.append, lambda _: None), lines


@pytest.mark.parametrize("contrast", ["decoupled", "unified"])
def test_a_tiny_set_is_learned_by_heart(
    configure_head: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contrast: str
) -> None:
    """No word of a query is in its paper, so only what the head reads between the words can find it."""
    monkeypatch.setattr(anchored, "BIAS", 1.0)  # random states point at no word: none would be active to begin with
    configuration = configure_head(
        steps=300, batch=8, contrast=contrast, log_every=10, evaluate_every=300, checkpoint_every=300
    )
    freely = replace(configuration, rate=2e-2, distillation_weight=0.0, token_flops=0.0, keyphrase_flops=0.0)
    _, lines = train(freely, tmp_path / "run")
    logged = [line for line in lines if "found" in line]
    assert logged[0]["found"] < 0.8
    assert logged[-1]["found"] == 1
    assert logged[-1]["contrast"] < 0.2 * logged[0]["contrast"]


def test_a_run_that_was_stopped_goes_on_bit_by_bit(configure_head: Configure, tmp_path: Path) -> None:
    """The result is averaged with the closed form that the run began with: it is kept, and not computed again."""

    def run(out: Path, resume: bool) -> None:
        with pytest.MonkeyPatch.context() as patched:
            if resume:
                patched.delattr(train_anchored_module, "begin_head")
            train(configure_head(), out, resume)

    assert_goes_on(run, tmp_path, stop=5)


def test_the_result_is_averaged_with_the_closed_form(configure_head: Configure, tmp_path: Path) -> None:
    """By weights: 0.25 of what was trained, which a run with all of it has, and 0.75 of what is kept in the run."""
    for share in (0.25, 1.0):
        train(configure_head(average=share), tmp_path / str(share))
    begun = load_file(tmp_path / "0.25" / "data" / "begun.safetensors")
    mixed, trained = (load_file(tmp_path / each / "model" / "head.safetensors") for each in ("0.25", "1.0"))
    for name in ("phrases", "transform.weight", "token_weight"):
        assert not torch.equal(trained[name], begun[name])
        torch.testing.assert_close(mixed[name], 0.25 * trained[name] + 0.75 * begun[name])


def test_a_run_of_an_earlier_version_can_be_gone_on_with(configure_head: Configure, tmp_path: Path) -> None:
    """Heads had fields once that did nothing; anything else that is unknown is refused."""
    configuration = configure_head(steps=1)
    run = RunFolder(tmp_path / "run")
    run.begin(KIND, configuration, {}, 1)
    description = tmp_path / "run" / "run.json"
    described = json.loads(description.read_text(encoding="utf-8"))
    described["configuration"] |= {"recompute": False, "chunk": 0, "keyphrase_bias": -1.0}
    description.write_text(json.dumps(described), encoding="utf-8")
    assert run.configuration(KIND, AnchoredTraining) == configuration
    described["configuration"]["speed"] = 9
    description.write_text(json.dumps(described), encoding="utf-8")
    with pytest.raises(SettingsError, match="there is no speed"):
        run.configuration(KIND, AnchoredTraining)


def test_several_processes_are_refused(
    configure_head: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SettingsError, match="without torchrun"):
        train(configure_head(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_head_says_how_it_came_about(configure_head: Configure, tmp_path: Path) -> None:
    train(configure_head(steps=2), tmp_path / "run")
    head, keyphrases, description = open_head(tmp_path / "run" / "model")
    assert len(keyphrases) == len(head.phrases)
    assert description["provenance"]["configuration"]["seed"] == 1
    assert description["provenance"]["data"].keys() == {"papers.jsonl", "triplets.jsonl", "keyphrases.txt"}
    assert json.loads((tmp_path / "run" / "run.json").read_text())["kind"] == "anchored"


def test_states_are_kept_and_computed_only_once(configure_head: Configure, encoder: str, tmp_path: Path) -> None:
    """States of content positions only, with the title's first; a second run on the same folder computes none."""
    configuration = configure_head(steps=1, states=str(tmp_path / "states"))
    train(configuration, tmp_path / "one")
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "states").iterdir()}
    train(configuration, tmp_path / "two")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "states").iterdir()} == written
    papers = Texts(tmp_path / "states", "papers")
    tokenizer = tiny_tokenizer()
    read = [tokenizer.convert_ids_to_tokens(papers.pieces(number).tolist()) for number in range(len(papers))]
    assert ["study", "coral", "reef"] in [pieces[:3] for pieces in read]
    assert all(len(papers.states(number)) == len(pieces) for number, pieces in enumerate(read))
    titles = [pieces[: papers.titles[number]] for number, pieces in enumerate(read)]
    assert all(title[0] == "study" and "show" not in title for title in titles)
    assert load_bundle(encoder).path(TOKENIZER).is_file()


def test_function_words_and_marks_are_no_content() -> None:
    vocabulary = {"[CLS]": 0, "the": 1, ".": 2, "cell": 3, "##s": 4, "2": 5}
    assert np.flatnonzero(content_pieces(vocabulary)).tolist() == [3, 4, 5]


def test_a_vocabulary_must_be_given(configure_head: Configure) -> None:
    with pytest.raises(SettingsError, match="vocab build"):
        configure_head(keyphrases="")


def test_a_small_set_gives_what_it_has(configure_head: Configure, tmp_path: Path) -> None:
    """Eight papers for pools of thousands and as many hard negatives as papers; more features wanted than there are."""
    outcome, _ = train(configure_head(steps=1, pool=8_192, hardest=8, chance_columns=5_000), tmp_path / "run")
    assert outcome.steps == 1


def test_one_paper_is_nothing_to_learn_from(configure_head: Configure, write_jsonl: WriteJsonl, tmp_path: Path) -> None:
    alone = [{**row, "positive": "p0", "negatives": [], "scores": []} for row in TRIPLETS]
    configuration = configure_head(triplets=str(write_jsonl("alone.jsonl", alone)))
    with pytest.raises(SettingsError, match="no other to tell it from"):
        train(configuration, tmp_path / "run")
