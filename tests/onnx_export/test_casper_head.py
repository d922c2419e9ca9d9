"""CASPER as a bundle: an encoder gives what the network in torch gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM

from sciret.encoders.bundle import GRAPHS, Bundle, Sparse, load_bundle
from sciret.encoders.encoder import Encoder
from sciret.encoders.session import open_session
from sciret.errors import BundleError, SettingsError
from sciret.onnx_export.export import export_bundle
from sciret.paper import Paper
from sciret.training.backbone import FittedEncoder
from sciret.training.casper import Encoded, Shape
from sciret.training.casper_folder import Checkpoint, open_casper, save_casper, start_casper
from sciret.training.reading import Reader, Texts

Make = Callable[..., Path]
PHRASES = ("abc", "neural net", "q", "zebra fish", "cd ef gh")
LENGTH = 48
WORDPIECES = 59
SHAPE = Shape(query_features=24, query_length=LENGTH, document_length=LENGTH)
QUERIES = ("abc", "A zebra, a fish and a neural net.", "quick! cd ef", "no ends. no starts, " * 10)
PAPERS = (
    Paper("1", "Neural nets", "We fish. Then we fish again, with zebra-like nets."),
    Paper("2", "Only a title."),
    Paper("3", "Long", "abc de fgh. " * 40),
)


@pytest.fixture(scope="module")
def make_casper(checkpoints: Make, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A function that makes a CASPER of an architecture, with a language model's head or one of its own."""

    def make(architecture: str = "bert", *, head: bool = True, rows: int = WORDPIECES, **changes: Any) -> Path:
        source = checkpoints(architecture, AutoModelForMaskedLM if head else AutoModel, vocab_size=rows)
        start = start_casper(str(source), PHRASES, replace(SHAPE, **changes), bias=0.0)
        if isinstance(start.casper.backbone, FittedEncoder):  # as if fitted: logits on both sides of 0
            torch.nn.init.normal_(start.casper.backbone.transform.weight)
            torch.nn.init.zeros_(start.casper.backbone.decoder.bias)
            torch.nn.init.zeros_(start.casper.keyphrases.bias)
        folder = tmp_path_factory.mktemp("casper") / "run"
        save_casper(folder / "model", start)
        return folder

    return make


@pytest.fixture(scope="module")
def run(make_casper: Make) -> Path:
    return make_casper()


@pytest.fixture(scope="module")
def bundle(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Of the run's folder, with everything in one pass."""
    return export_bundle(str(run), tmp_path_factory.mktemp("out") / "casper", outputs="both")


def only(bundle: Bundle, precision: str) -> Encoder:
    """An encoder that has no choice of the graph."""
    files = {name: sha for name, sha in bundle.files.items() if name not in GRAPHS.values()}
    chosen = replace(bundle, files={**files, GRAPHS[precision]: bundle.files[GRAPHS[precision]]})
    return Encoder(chosen, open_session(chosen, "cpu", 1))


def named(checkpoint: Checkpoint, row: int, encoded: Encoded) -> tuple[dict[str, float], dict[str, float]]:
    """Of torch's vectors, the weights that are not zero, by name."""
    tokens, keyphrases = (part[row].tolist() for part in encoded)
    pieces = checkpoint.tokenizer.convert_ids_to_tokens(list(range(len(checkpoint.tokenizer))))
    return (
        {name: weight for name, weight in zip(pieces, tokens, strict=False) if weight},
        {name: weight for name, weight in zip(PHRASES, keyphrases, strict=True) if weight},
    )


def papers_in_torch(checkpoint: Checkpoint) -> list[tuple[dict[str, float], dict[str, float]]]:
    texts = reader(checkpoint).papers([(paper.title, paper.abstract) for paper in PAPERS])
    encoded = checkpoint.casper.eval().encode_papers(texts.ids, texts.mask)
    return [named(checkpoint, row, encoded) for row in range(len(PAPERS))]


def queries_in_torch(checkpoint: Checkpoint) -> list[tuple[dict[str, float], dict[str, float]]]:
    texts: Texts = reader(checkpoint).queries(QUERIES)
    encoded = checkpoint.casper.eval().encode_queries(texts.ids, texts.mask)
    return [named(checkpoint, row, encoded) for row in range(len(QUERIES))]


def reader(checkpoint: Checkpoint) -> Reader:
    return Reader(checkpoint.tokenizer, LENGTH, LENGTH)


def assert_alike(found: Any, expected: tuple[dict[str, float], dict[str, float]], tolerance: float = 1e-4) -> None:
    for part, other in zip((found.tokens, found.keyphrases), expected, strict=True):
        assert dict(part) == pytest.approx(other, abs=tolerance)


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "roberta"])
@pytest.mark.parametrize("head", [True, False])
@pytest.mark.usefixtures("quiet")
def test_an_encoder_gives_what_the_network_gives(
    make_casper: Make, tmp_path: Path, architecture: str, head: bool
) -> None:
    """Papers and queries, of every architecture, with a language model's head or a fitted one."""
    source = make_casper(architecture, head=head)
    made = export_bundle(str(source), tmp_path / "bundle", precision="fp32")
    assert made.outputs == ("tokens", "keyphrases")
    assert (made.dims, made.max_length) == (0, LENGTH)
    encoder, checkpoint = Encoder.open(str(made.folder), device="cpu"), open_casper(str(source))
    for paper, expected in zip(encoder.encode_papers(PAPERS), papers_in_torch(checkpoint), strict=True):
        assert_alike(paper, expected)
        assert all(expected), "nothing was compared"
        assert (paper.dense, paper.sentence_vectors) == (None, None)
    for text, expected in zip(QUERIES, queries_in_torch(checkpoint), strict=True):
        assert_alike(encoder.encode_query(text), expected)


@pytest.mark.parametrize(("tokens", "keyphrases"), [("sum", "max"), ("max", "max")])
def test_poolings_are_those_of_the_checkpoint(make_casper: Make, tmp_path: Path, tokens: str, keyphrases: str) -> None:
    source = make_casper(token_pooling=tokens, keyphrase_pooling=keyphrases)
    encoder = Encoder.open(str(export_bundle(str(source), tmp_path / "b", precision="fp32").folder), device="cpu")
    for paper, expected in zip(encoder.encode_papers(PAPERS), papers_in_torch(open_casper(str(source))), strict=True):
        assert_alike(paper, expected)


def test_one_pass_gives_vectors_too(bundle: Bundle, run: Path, tmp_path: Path) -> None:
    """Those that the network has in a bundle without weights, and the same weights."""
    assert bundle.outputs == ("dense", "sentences", "tokens", "keyphrases")
    dense = export_bundle(str(run), tmp_path / "dense", outputs="dense", precision="fp32", max_length=LENGTH)
    assert (dense.outputs, dense.sparse, dense.dims) == (("dense", "sentences"), None, 32)
    both, alone = only(bundle, "fp32"), Encoder.open(str(dense.folder), device="cpu")
    expected = papers_in_torch(open_casper(str(run)))
    for one, other, weights in zip(both.encode_papers(PAPERS), alone.encode_papers(PAPERS), expected, strict=True):
        assert_alike(one, weights)
        assert one.dense == pytest.approx(other.dense, abs=1e-5)
        assert one.sentence_vectors == pytest.approx(other.sentence_vectors, abs=1e-5)


def test_int8_is_near(bundle: Bundle) -> None:
    """Both decoders are quantized, and the figures of the description are those of the graphs."""
    graph = onnx.load(bundle.path("model.int8.onnx")).graph
    assert not [
        t.name
        for t in graph.initializer
        if t.data_type == onnx.TensorProto.FLOAT and len(t.dims) == 2 and min(t.dims) > 4
    ]
    figures = json.loads((bundle.folder / "bundle.json").read_text(encoding="utf-8"))["parity"]["int8"]
    assert figures["tokens"]["mean_cosine"] > 0.98
    assert figures["keyphrases"]["mean_cosine"] > 0.98
    assert 0.5 < figures["tokens"]["mean_overlap"] <= 1
    assert set(figures["rankings"]) == {"dense", "sparse"}
    assert figures["rankings"]["sparse"]["ndcg_at_10"] > 0.9
    exact, near = (list(only(bundle, p).encode_papers(PAPERS)) for p in ("fp32", "int8"))
    for one, other in zip(exact, near, strict=True):
        names = sorted({*one.tokens, *other.tokens})
        a, b = (np.array([paper.tokens.get(name, 0) for name in names]) for paper in (one, other))
        assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > 0.95


def test_the_description_has_the_settings_and_is_read_back(bundle: Bundle) -> None:
    assert load_bundle(str(bundle.folder)) == bundle
    assert bundle.sparse == Sparse(beta=0.25, mass=0.8, query_features=24)
    assert bundle.provenance["fused"] == {"attention": 1, "gelu": 2}
    assert bundle.name == "run"
    assert {"features.npz", "keyphrases.txt"} <= set(bundle.files)
    again = np.load(bundle.path("features.npz"))
    assert again["token_weights"].tolist()[:6] == [0, 0, 0, 0, 0, 1]


def test_what_the_network_has_room_for_beyond_the_tokenizer_is_no_feature(make_casper: Make, tmp_path: Path) -> None:
    made = export_bundle(str(make_casper(rows=64)), tmp_path / "bundle", precision="fp32")
    assert np.load(made.path("features.npz"))["token_weights"].shape == (WORDPIECES,)
    [paper] = Encoder.open(str(made.folder), device="cpu").encode_papers(PAPERS[:1])
    assert paper.tokens


@pytest.mark.parametrize("graph", ["model.onnx", "model.int8.onnx"])
def test_positions_that_pad_have_no_weight(bundle: Bundle, graph: str) -> None:
    """Not even where a text has no content at all, alone or in company."""
    import onnxruntime

    session = onnxruntime.InferenceSession(bundle.path(graph), providers=["CPUExecutionProvider"])
    ids = np.array([[2, 7, 9, 11, 3], [2, 8, 3, 0, 0]])
    feed = {"input_ids": ids, "attention_mask": (ids > 0).astype(np.int64), "spans": np.ones((2, 1, 2), np.int64)}

    def weights(content: list[list[int]], rows: slice = slice(None)) -> list[Any]:
        given = {name: array[rows] for name, array in feed.items()}
        return list(session.run(["tokens", "keyphrases"], {**given, "content": np.array(content)}))

    for whole, padded in zip(weights([[1, 2, 3], [1, -1, -1]]), weights([[1, 2, 3, -1], [1, -1, -1, -1]]), strict=True):
        np.testing.assert_allclose(whole, padded, atol=1e-5)
        assert (whole >= 0).all()
    for nothing in (weights([[-1]], slice(0, 1)), [part[1:] for part in weights([[1, 2], [-1, -1]])]):
        assert not any(part.any() for part in nothing)


def test_the_checkpoint_can_be_named_itself(run: Path, tmp_path: Path) -> None:
    """Not only the run that it is in; then the folder above names the model."""
    made = export_bundle(str(run / "model"), tmp_path / "bundle", precision="fp32")
    assert (made.name, made.outputs) == ("run", ("tokens", "keyphrases"))


def test_what_cannot_be_is_refused(run: Path, source: Path, tmp_path: Path) -> None:
    """In words, before anything is written."""
    for given, said in [
        ({"source": source, "outputs": "both"}, "no sparse head"),
        ({"source": run, "via": "optimum"}, "--via torch"),
        ({"source": run, "backbone": str(source)}, "leave out --backbone"),
        ({"source": source, "backbone": str(source)}, "leave out --backbone"),
        ({"source": run, "max_length": 70}, "8 to 66"),
    ]:
        options: dict[str, Any] = {name: value for name, value in given.items() if name != "source"}
        with pytest.raises(SettingsError, match=said):
            export_bundle(str(given["source"]), tmp_path / "out", **options)
    folder = tmp_path / "unknown"
    folder.mkdir()
    (folder / "casper.json").write_text('{"kind": "phantom"}', encoding="utf-8")
    with pytest.raises(BundleError, match="phantom"):
        export_bundle(str(folder), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_network_that_does_something_else_between_encoder_and_head_is_refused(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts are compared with the whole before they are exported."""
    from sciret.onnx_export import casper_head

    real = casper_head.MaskedHead.forward
    monkeypatch.setattr(casper_head.MaskedHead, "forward", lambda self, states: real(self, states) + 0.1)
    with pytest.raises(BundleError, match="cannot be told from its encoder"):
        export_bundle(str(run), tmp_path / "bundle")
