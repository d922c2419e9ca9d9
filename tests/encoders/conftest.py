from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from sciret.encoders.bundle import TOKENIZER, Bundle, fingerprint, load_bundle, sha256, write_description
from sciret.encoders.encoder import Encoder
from sciret.encoders.text import TextReader

from .tiny_bundle import save_graph

DIMS = 8
SEED = 7

MakeBundle = Callable[..., str]


@pytest.fixture(scope="session")
def default_bundle() -> Bundle:
    return load_bundle("default")


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """The shipped model, as users run it."""
    return Encoder.open("default", device="cpu")


@pytest.fixture(scope="session")
def reader(default_bundle: Bundle) -> TextReader:
    return TextReader(default_bundle)


@pytest.fixture(scope="session")
def make_bundle(default_bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> MakeBundle:
    """Writes a bundle with a very small fp32 graph that keeps the contract: vectors are sums of word vectors."""

    outputs = ("dense", "sentences")

    def make(graph: bytes | None = None, graph_outputs: tuple[str, ...] = outputs, **fields: str | int) -> str:
        folder = tmp_path_factory.mktemp("bundle")
        shutil.copy(default_bundle.path(TOKENIZER), folder)
        if graph is None:
            save_graph(folder / "model.onnx", graph_outputs, SEED, DIMS)
        else:
            (folder / "model.onnx").write_bytes(graph)
        files = {path.name: sha256(path) for path in folder.iterdir()}
        about = {"name": "small", "dims": DIMS, "max_length": 64, **fields}
        write_description(Bundle(folder, outputs=outputs, files=files, fingerprint=fingerprint(files), **about))  # type: ignore[arg-type]
        return str(folder)

    return make


@pytest.fixture(scope="session")
def small_encoder(make_bundle: MakeBundle) -> Encoder:
    """Runs in fp32, hence in batches."""
    return Encoder.open(make_bundle(), device="cpu", threads=2)
