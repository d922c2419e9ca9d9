"""Sparse vectors of papers and queries, by a bundle whose weights are counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciret.encoders.bundle import KEYPHRASES, Sparse, fingerprint, load_bundle, sha256, write_description
from sciret.encoders.encoder import Encoder
from sciret.errors import BundleError, QueryError
from sciret.paper import Paper

from .sparse_bundle import PHRASES, STOP, VOCABULARY, number, sparse_bundle, weights

Open = Callable[..., Encoder]
WEIGHTED = Sparse(query_tokens="weighted", query_keyphrases="weighted")
REEF = Paper("reef", "The coral reef", "Coral, coral, coral of the reef. Sand.")


@pytest.fixture(scope="module")
def open_sparse(tmp_path_factory: pytest.TempPathFactory) -> Open:
    def make(**fields: Any) -> Encoder:
        return Encoder.open(sparse_bundle(tmp_path_factory.mktemp("sparse"), **fields), device="cpu", threads=1)

    return make


@pytest.fixture(scope="module")
def encoder(open_sparse: Open) -> Encoder:
    return open_sparse(sparse=Sparse(mass=1.0))


@pytest.fixture(scope="module")
def weighted(open_sparse: Open) -> Encoder:
    return open_sparse(sparse=WEIGHTED)


def test_a_paper_has_the_features_of_its_words(encoder: Encoder) -> None:
    """Names as the tokenizer and keyphrases.txt write them; neither special tokens nor stop words weigh."""
    [paper] = encoder.encode_papers([REEF])
    assert paper.tokens == {"coral": 4, "reef": 2, "sand": 1}
    assert paper.keyphrases == {"coral reef": 6, "sand": 1}
    assert list(paper.tokens) == ["coral", "reef", "sand"]


def test_a_bundle_without_vectors_gives_none(encoder: Encoder) -> None:
    """Sentences are split all the same, since people read them."""
    [paper] = encoder.encode_papers([REEF])
    assert (paper.dense, paper.sentence_vectors, paper.roles) == (None, None, ())
    assert paper.sentences == ("Coral, coral, coral of the reef.", "Sand.")
    query = encoder.encode_query("coral")
    assert (query.dense, query.sentence_vectors, query.sentences) == (None, None, ("coral",))


def test_each_part_of_a_paper_is_pruned_by_mass(open_sparse: Open) -> None:
    """6 of the 7 of all keyphrases are more than 80 %, and so are 6 of the 7 of all tokens."""
    [paper] = open_sparse().encode_papers([REEF])
    assert paper.tokens == {"coral": 4, "reef": 2}
    assert paper.keyphrases == {"coral reef": 6}


def test_an_encoded_query_is_pruned_as_a_paper_is(open_sparse: Open) -> None:
    query = open_sparse(sparse=Sparse(beta=0.5)).encode_query("The coral reef, coral, coral, coral of the reef, sand.")
    assert query.tokens == {"coral": 4, "reef": 2}
    assert query.keyphrases == {"coral reef": 6}
    assert query.beta == 0.5


def test_a_weighted_query_counts_its_words(weighted: Encoder) -> None:
    """Times the weight of each; keyphrases are those that stand in it, once; nothing is pruned by mass."""
    query = weighted.encode_query("The corals of the reef; a coral reef of sand, coral reefs")
    assert query.tokens == {"coral": 6, "##s": 2, "reef": 4, "a": 2, "sand": 2, "reefs": 2, ";": 2}
    assert query.keyphrases == {"coral reef": 1, "sand": 4}


def test_parts_of_a_query_are_weighted_or_encoded_each(open_sparse: Open) -> None:
    query = open_sparse(sparse=Sparse(mass=1.0, query_tokens="weighted")).encode_query("coral reef")
    assert query.tokens == {"coral": 2, "reef": 2}
    assert query.keyphrases == {"coral reef": 2}


def test_both_is_the_sum(open_sparse: Open) -> None:
    encoded, weighted, both = (
        open_sparse(sparse=Sparse(mass=1.0, query_tokens=part, query_keyphrases=part)).encode_query("sand of a reef")
        for part in ("encoded", "weighted", "both")
    )
    assert both.tokens == {name: encoded.tokens[name] + weighted.tokens[name] for name in weighted.tokens}
    assert both.keyphrases["sand"] == encoded.keyphrases["sand"] + weighted.keyphrases["sand"]
    assert encoded.keyphrases.keys() - weighted.keyphrases.keys() < both.keyphrases.keys()


def test_a_weighted_query_needs_no_graph(weighted: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no vectors either."""
    monkeypatch.setattr(weighted, "_session", None)
    assert weighted.encode_query("sand").tokens == {"sand": 2}


@pytest.mark.parametrize("part", ["weighted", "encoded"])
def test_a_query_keeps_the_features_of_largest_share(open_sparse: Open, part: Any) -> None:
    """A keyphrase counts β of its weight."""
    kind = Sparse(query_features=2, query_tokens=part, query_keyphrases=part, mass=1.0, beta=0.1)
    query = open_sparse(sparse=kind).encode_query("coral coral reef sand sand sand")
    assert set(query.tokens) == {"coral", "sand"}
    assert query.keyphrases == {}


def test_one_pass_gives_vectors_too_and_the_prefix_is_for_the_document_vector_alone(open_sparse: Open) -> None:
    both = open_sparse(vectors=True, query_prefix="Find enzyme: ", sparse=Sparse(mass=1.0))
    query, bare = both.encode_query("coral sand"), open_sparse(vectors=True).encode_query("coral sand")
    assert query.tokens == {"coral": 1, "sand": 1}
    assert query.keyphrases == {"coral reef": 1, "sand": 1}
    assert query.dense is not None
    assert bare.dense is not None
    assert float(query.dense @ bare.dense) < 0.99
    np.testing.assert_array_equal(query.sentence_vectors, bare.sentence_vectors)
    [paper] = both.encode_papers([REEF])
    assert paper.sentence_vectors is not None
    assert paper.sentence_vectors.shape == (2, 8)
    assert paper.tokens == {"coral": 4, "reef": 2, "sand": 1}


def test_a_papers_prefix_is_no_feature(open_sparse: Open) -> None:
    """With an abstract and without one."""
    prefixed = open_sparse(paper_prefix="enzyme: ", sparse=Sparse(mass=1.0))
    first, second = prefixed.encode_papers([REEF, Paper("title", "Sand")])
    assert first.tokens == {"coral": 4, "reef": 2, "sand": 1}
    assert second.tokens == {"sand": 1}


def test_a_text_without_content_has_no_features(encoder: Encoder, weighted: Encoder) -> None:
    """Neither alone nor beside one that has some."""
    papers = list(encoder.encode_papers([Paper("1", "The of"), REEF, Paper("2", "")]))
    assert [len(paper.tokens) for paper in papers] == [0, 3, 0]
    for one in (encoder, weighted):
        query = one.encode_query("of the")
        assert (query.tokens, query.keyphrases) == ({}, {})
    with pytest.raises(QueryError):
        weighted.encode_query(" ")


@given(st.lists(st.sampled_from(["coral", "reef", "sand", *STOP]), max_size=30))
@settings(max_examples=40, deadline=None)
def test_tokens_are_those_of_the_content_words(encoder: Encoder, words: list[str]) -> None:
    """Whatever stands between them."""
    [paper] = encoder.encode_papers([Paper("1", " ".join(words))])
    assert paper.tokens == Counter(word for word in words if word not in STOP)


def changed(**arrays: Any) -> dict[str, Any]:
    return {**weights(), **arrays}


def special() -> Any:
    tokens = weights()["token_weights"]
    tokens[number("[SEP]")] = 1
    return tokens


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (changed(token_weights=np.ones(7, np.float32)), r"token_weights is float32 \[7\], but the bundle has 30522"),
        (changed(token_weights=np.ones(VOCABULARY)), "token_weights is float64"),
        (changed(keyphrase_weights=np.ones((4, 1), np.float32)), r"keyphrase_weights is float32 \[4, 1\]"),
        (changed(keyphrase_weights=np.array([1, 2, 3, -1], np.float32)), "negative or not finite"),
        (changed(keyphrase_weights=np.array([1, 2, 3, np.nan], np.float32)), "negative or not finite"),
        (changed(keyphrase_weights=np.array([1, 2, 3, np.inf], np.float32)), "negative or not finite"),
        (changed(token_weights=special()), "special token"),
        ({"token_weights": weights()["token_weights"]}, "keyphrase_weights is none"),
        (changed(token_weights=np.array([{}] * 3)), "not a file of weights"),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, arrays: dict[str, Any], said: str) -> None:
    """When the bundle is opened, with what to do."""
    with pytest.raises(BundleError, match=said) as refused:
        Encoder.open(sparse_bundle(tmp_path, arrays=arrays), device="cpu")
    assert "export the model again" in str(refused.value)


@pytest.mark.parametrize(
    ("phrases", "said"),
    [(PHRASES[:3], "graph gives 4 keyphrases, but the bundle has 3"), (("a", "", "b", "c"), "empty")],
)
def test_a_vocabulary_that_does_not_fit_is_refused(tmp_path: Path, phrases: tuple[str, ...], said: str) -> None:
    with pytest.raises(BundleError, match=said):
        Encoder.open(sparse_bundle(tmp_path, phrases=phrases), device="cpu")


def test_vocabulary_and_weights_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    """Another order of phrases would give other vectors."""
    bundle = load_bundle(sparse_bundle(tmp_path))
    files = dict(bundle.files)
    for name in ("features.npz", KEYPHRASES):
        assert fingerprint({**files, name: "0"}) != bundle.fingerprint
    (tmp_path / KEYPHRASES).write_text("\n".join(reversed(PHRASES)), encoding="utf-8")
    with pytest.raises(BundleError, match="sha256"):
        load_bundle(str(tmp_path))
    assert sha256(tmp_path / KEYPHRASES) != files[KEYPHRASES]


def test_writing_a_description_keeps_the_sparse_section(tmp_path: Path) -> None:
    """And does not give one to a bundle without."""
    bundle = load_bundle(sparse_bundle(tmp_path, sparse=WEIGHTED))
    before = (tmp_path / "bundle.json").read_bytes()
    write_description(bundle)
    assert (tmp_path / "bundle.json").read_bytes() == before
    assert bundle.sparse == WEIGHTED
