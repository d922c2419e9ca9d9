"""The bundle in the repository is the one that its description and its card speak of."""

from __future__ import annotations

import pytest

from sciret.encoders.bundle import KEYPHRASES, ROLES, SHIPPED, Bundle, load_bundle
from sciret.encoders.phrases import load_phrases
from sciret.onnx_export.parity import FP32_LIMIT, INT8_LIMIT


@pytest.fixture(scope="module")
def default() -> Bundle:
    return load_bundle("default")


def test_it_is_small_and_complete(default: Bundle) -> None:
    """int8, vectors and weights of one pass, 10,000 keyphrases at least, roles, a licence; under 60 MB in all."""
    assert default.precisions == ("int8",)
    assert default.outputs == ("dense", "sentences", "tokens", "keyphrases")
    assert len(load_phrases(default.path(KEYPHRASES))) >= 10_000
    assert default.licence == "MIT"
    assert sum(path.stat().st_size for path in default.folder.iterdir()) < 60_000_000
    assert default.path(ROLES).stat().st_size < 100_000


def test_its_parity_is_within_the_limits(default: Bundle) -> None:
    for output in default.outputs:
        assert default.parity["fp32"][output]["max_abs_difference"] <= FP32_LIMIT
        assert default.parity["int8"][output]["mean_cosine"] >= INT8_LIMIT


def test_its_card_gives_the_same_figures(default: Bundle) -> None:
    """Whoever makes the bundle anew has to look at the card again."""
    card = (SHIPPED / "default" / "MODEL_CARD.md").read_text(encoding="utf-8")
    roles = default.provenance["roles"]["test"]
    parity = default.parity["int8"]
    figures = [roles["accuracy"], roles["macro_f1"], *(parity[o]["mean_cosine"] for o in default.outputs)]
    for expected in (default.fingerprint, default.provenance["sha256"], *map(str, figures)):
        assert expected in card
