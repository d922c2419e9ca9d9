"""The network: what it computes on every architecture, how rows start, and that it survives a trip to disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from sciret.errors import SettingsError
from sciret.training.backbone import FittedEncoder, MaskedLanguageModel, plain
from sciret.training.casper import Casper, Encoded, Shape, level_rows
from sciret.training.casper_folder import Checkpoint, open_casper, save_casper, start_casper
from sciret.training.fitting import fit_head
from sciret.training.sparsity import POOLINGS, pool

from .conftest import Make

PHRASES = ("neural network", "coral reef", "sleep", "error correction code")
ARCHITECTURES = ["bert", "distilbert", "roberta"]
SHAPE = Shape(query_length=16, document_length=24)
TEXTS = ["a neural network", "coral reef and climate", "we study sleep and memory in infant brain"]


def batch(checkpoint: Checkpoint) -> tuple[torch.Tensor, torch.Tensor]:
    encoded = checkpoint.tokenizer(TEXTS, padding=True, return_tensors="pt")
    return encoded["input_ids"], encoded["attention_mask"]


def start(folder: Path, shape: Shape = SHAPE, chunk: int = 0) -> Checkpoint:
    checkpoint = start_casper(str(folder), PHRASES, shape, bias=-0.1, chunk=chunk)
    checkpoint.casper.eval()
    return checkpoint


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_tokens_are_the_pooled_logits_of_the_language_model(checkpoints: Make, architecture: str) -> None:
    """Exactly those of transformers' own network, of content positions, and none for special tokens."""
    folder = checkpoints(architecture)
    checkpoint = start(folder)
    ids, mask = batch(checkpoint)
    reference = AutoModelForMaskedLM.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = reference(input_ids=ids, attention_mask=mask).logits
        found = checkpoint.casper(ids, mask)
    content = mask.bool() & (ids != 2) & (ids != 3)
    expected = pool(logits, content, "max")
    expected[:, checkpoint.tokenizer.all_special_ids] = 0
    torch.testing.assert_close(found.tokens, expected)
    assert found.keyphrases.shape == (3, len(PHRASES))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_keyphrase_rows_start_as_the_mean_of_their_wordpieces(checkpoints: Make, architecture: str) -> None:
    checkpoint = start(checkpoints(architecture))
    decoder, rows = checkpoint.casper.backbone.decoder, checkpoint.casper.keyphrases
    pieces = plain(checkpoint.tokenizer).encode(PHRASES[3], add_special_tokens=False).ids
    assert len(pieces) == 3
    torch.testing.assert_close(rows.weight[3], decoder.weight[pieces].mean(dim=0))
    torch.testing.assert_close(rows.bias[3], decoder.bias[pieces].mean() - 0.1)


def test_pooling_is_selectable_for_both_parts(checkpoints: Make) -> None:
    """The sum of a text with one content position is its maximum; of more it is more."""
    folder = checkpoints("bert")
    found: dict[str, Encoded] = {}
    for how in POOLINGS:
        checkpoint = start(folder, Shape(token_pooling=how, keyphrase_pooling=how))
        ids, mask = batch(checkpoint)
        with torch.no_grad():
            found[how] = checkpoint.casper(ids, mask)
            found[f"{how} of one"] = checkpoint.casper(ids[:1, [0, 1, 4]], mask[:1, [0, 1, 4]])
    torch.testing.assert_close(found["max of one"], found["sum of one"])
    assert (found["sum"].tokens >= found["max"].tokens).all()
    assert found["sum"].keyphrases.sum() > found["max"].keyphrases.sum()


def test_decoding_in_chunks_changes_nothing_but_memory(checkpoints: Make) -> None:
    """Vectors and gradients are the same whether all texts are decoded at once or each again in the backward pass."""
    folder = checkpoints("bert")
    results = []
    for chunk in (0, 2):
        checkpoint = start(folder, chunk=chunk)
        ids, mask = batch(checkpoint)
        vectors = checkpoint.casper(ids, mask)
        (vectors.tokens.square().sum() + vectors.keyphrases.square().sum()).backward()
        gradients = {name: p.grad for name, p in checkpoint.casper.named_parameters() if p.grad is not None}
        results.append((vectors, gradients))
    torch.testing.assert_close(results[0], results[1])


def test_padding_changes_nothing(checkpoints: Make) -> None:
    checkpoint = start(checkpoints("bert"))
    ids, mask = batch(checkpoint)
    with torch.no_grad():
        together = checkpoint.casper(ids, mask)
        alone = checkpoint.casper(ids[:1, :5], mask[:1, :5])
    torch.testing.assert_close(Encoded(*(part[:1] for part in together)), alone)


def test_papers_are_pruned_and_queries_limited(checkpoints: Make) -> None:
    checkpoint = start(checkpoints("bert"), Shape(mass=0.5, query_features=3))
    ids, mask = batch(checkpoint)
    with torch.no_grad():
        whole = checkpoint.casper(ids, mask)
    papers, queries = checkpoint.casper.encode_papers(ids, mask), checkpoint.casper.encode_queries(ids, mask)
    assert ((papers.tokens > 0).sum(dim=1) < (whole.tokens > 0).sum(dim=1)).all()
    assert (papers.tokens.sum(dim=1) >= 0.5 * whole.tokens.sum(dim=1)).all()
    assert ((torch.cat(list(queries), dim=1) > 0).sum(dim=1) == 3).all()


@pytest.mark.parametrize("bias", [3.0, -3.0])
def test_biases_are_levelled_until_as_many_keyphrases_are_active_as_wanted(checkpoints: Make, bias: float) -> None:
    """From above and from below; a second time there is nothing to do, nor where there are no more than wanted."""
    checkpoint = start_casper(str(checkpoints("bert")), PHRASES, SHAPE, bias)
    checkpoint.casper.eval()
    ids, mask = batch(checkpoint)

    def active() -> float:
        with torch.no_grad():
            return float((checkpoint.casper(ids, mask).keyphrases > 0).sum() / len(ids))

    assert active() == (len(PHRASES) if bias > 0 else 0)
    assert level_rows(checkpoint.casper, ids, mask, active=2) * bias < 0
    assert active() == 2
    assert level_rows(checkpoint.casper, ids, mask, active=2) == pytest.approx(0, abs=1e-5)
    assert level_rows(checkpoint.casper, ids, mask, active=9) == 0


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("head", [True, False])
def test_a_checkpoint_survives_a_trip_to_disk(checkpoints: Make, tmp_path: Path, architecture: str, head: bool) -> None:
    """Every weight, the shape and the keyphrases; and the folder still is one of transformers."""
    checkpoint = start(checkpoints(architecture, head=head))
    with torch.no_grad():
        for parameter in checkpoint.casper.parameters():
            parameter.mul_(1.1)
    save_casper(tmp_path / "run" / "model", checkpoint)
    again = open_casper(str(tmp_path / "run"))
    again.casper.eval()
    assert isinstance(again.casper.backbone, MaskedLanguageModel if head else FittedEncoder)
    assert again.keyphrases == PHRASES
    assert again.casper.shape == SHAPE
    assert not again.fresh
    torch.testing.assert_close(again.casper.state_dict(), checkpoint.casper.state_dict(), rtol=0, atol=0)
    with torch.no_grad():
        torch.testing.assert_close(again.casper(*batch(again)), checkpoint.casper(*batch(checkpoint)))
    if head:
        plain_network = AutoModelForMaskedLM.from_pretrained(tmp_path / "run" / "model").eval()
        torch.testing.assert_close(plain_network.get_output_embeddings().weight, again.casper.backbone.decoder.weight)
    assert AutoTokenizer.from_pretrained(tmp_path / "run" / "model").is_fast  # type: ignore[no-untyped-call]
    description = json.loads((tmp_path / "run" / "model" / "casper.json").read_text(encoding="utf-8"))
    assert (description["kind"], description["beta"], description["keyphrase_pooling"]) == ("casper", 0.25, "sum")


def test_saving_leaves_the_network_as_it_was(checkpoints: Make, tmp_path: Path) -> None:
    """Training goes on after a save: the decoder is still the one that is trained, and not inside the network."""
    checkpoint = start(checkpoints("bert"))
    before = checkpoint.casper(*batch(checkpoint))
    save_casper(tmp_path / "model", checkpoint)
    torch.testing.assert_close(checkpoint.casper(*batch(checkpoint)), before)


def test_a_fitted_head_finds_the_words_that_were_read(checkpoints: Make) -> None:
    """An encoder without a head names few of its input words before the fit, and most of them after it."""
    checkpoint = start(checkpoints("bert", head=False))
    casper, (ids, mask) = checkpoint.casper, batch(checkpoint)
    assert isinstance(casper.backbone, FittedEncoder)
    content = mask.bool() & ~torch.isin(ids, casper.special)
    with torch.no_grad():
        before = casper.backbone.decoder(casper.backbone(ids, mask)).argmax(dim=-1)
    assert (before == ids)[content].float().mean() < 0.3
    assert fit_head(casper.backbone, [(ids, mask)], casper.special) > 0.9


@pytest.mark.parametrize(
    "changes",
    [{"token_pooling": "mean"}, {"mass": 0.0}, {"beta": -1.0}, {"query_length": 2}, {"query_features": 0}],
)
def test_a_shape_that_cannot_be_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        Shape(**changes)  # type: ignore[arg-type]


def test_what_is_no_checkpoint_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="save_pretrained"):
        start_casper(str(tmp_path), PHRASES, SHAPE, bias=0)
    with pytest.raises(SettingsError, match=r"casper\.json"):
        open_casper(str(tmp_path))
    with pytest.raises(SettingsError, match="no keyphrase"):
        start_casper(str(tmp_path), (), SHAPE, bias=0)


def test_a_keyphrase_without_letters_is_refused(checkpoints: Make) -> None:
    with pytest.raises(SettingsError, match="keyphrase 2"):
        start_casper(str(checkpoints("bert")), ("sleep", "\u200b"), SHAPE, bias=0)


def test_the_module_has_no_parameter_that_gets_no_gradient(checkpoints: Make) -> None:
    """Else DDP would wait for it for ever."""
    for head in (True, False):
        casper: Casper = start(checkpoints("bert", head=head)).casper
        ids, mask = batch(start(checkpoints("bert", head=head)))
        sum(part.sum() for part in casper(ids, mask)).backward()
        assert [name for name, p in casper.named_parameters() if p.requires_grad and p.grad is None] == []
