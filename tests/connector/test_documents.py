"""Documents: what goes in comes out, in memory and after JSON; what could not is refused by the paper's name."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciret.connector.documents import MOST_NESTED, document_id, pack_vectors, to_document, to_paper, unpack_vectors
from sciret.encoded import EncodedPaper
from sciret.errors import StoreError
from sciret.paper import ACCESS, Paper

NOW = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
PAPERS = st.builds(
    Paper,
    id=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20),
    title=TEXT.filter(bool),
    abstract=TEXT,
    sentences=st.lists(TEXT, max_size=3).map(tuple),
    authors=st.lists(TEXT, max_size=3).map(tuple),
    year=st.none() | st.integers(-(2**31), 2**31 - 1),
    date=st.none() | st.sampled_from(["2001", "2001-02", "2001-02-03", "once"]),
    venue=st.none() | TEXT.filter(bool),
    access=st.sampled_from(ACCESS),
    deleted=st.booleans(),
    extra=st.dictionaries(TEXT, JSON, max_size=3),
)


def bare(**fields: Any) -> EncodedPaper:
    return EncodedPaper(Paper("p", "a b b", **fields), "m", sentences=("a b b",))


def written(encoded: EncodedPaper, *, nested: bool = True) -> dict[str, Any]:
    """After a trip through JSON, as a server has it."""
    found: dict[str, Any] = json.loads(json.dumps(to_document(encoded, nested=nested, beta=0.25, now=NOW)))
    return found


@given(paper=PAPERS)
def test_any_paper_comes_back(paper: Paper) -> None:
    """With every field exactly as it was, whatever the index makes of it for searching."""
    encoded = EncodedPaper(paper, "m", sentences=("one",), roles=("method",), truncated=True)
    read = to_paper(written(encoded))
    assert read.paper == Paper.from_dict(paper.to_dict())
    assert (read.model, read.sentences, read.roles, read.truncated) == ("m", ("one",), ("method",), True)
    assert (read.dense, read.sentence_vectors) == (None, None)


def test_vectors_come_back_to_half_precision() -> None:
    rng = np.random.default_rng(1)
    dense, rows = rng.standard_normal(6).astype(np.float32), rng.standard_normal((3, 6)).astype(np.float32)
    for left, right in ((dense, rows), (dense, None), (None, rows)):
        sentences = ("a", "b", "c") if right is not None else ("a",)
        read = to_paper(written(replace(bare(), dense=left, sentence_vectors=right, sentences=sentences)))
        for kept, given_ in ((read.dense, left), (read.sentence_vectors, right)):
            if given_ is None:
                assert kept is None
            else:
                np.testing.assert_array_equal(kept, given_.astype(np.float16).astype(np.float32))


def test_vectors_have_a_header_that_says_what_follows() -> None:
    """Version, flags (1: dense, 2: sentences), length of a vector; little-endian, then the rows."""
    packed = pack_vectors(
        replace(bare(), dense=np.array([1, -2], np.float32), sentence_vectors=np.ones((1, 2), np.float32))
    )
    assert packed == bytes([1, 3, 2, 0]) + np.array([1, -2, 1, 1], "<f2").tobytes()
    assert pack_vectors(bare()) is None
    assert unpack_vectors(None) == (None, None, 0)


def test_vectors_of_a_later_version_are_not_guessed_at() -> None:
    with pytest.raises(StoreError, match="version 2, this sciret knows 1: upgrade"):
        unpack_vectors("AgECAA==")


def test_the_graph_compares_the_same_numbers_as_the_rescoring() -> None:
    vector = np.array([0.1, 1 / 3], np.float32)
    document = written(replace(bare(), dense=vector, sentence_vectors=vector[None]))
    half = vector.astype(np.float16).astype(np.float64).tolist()
    assert document["dense"] == half
    assert document["sentences"] == [{"number": 1, "text": "a b b", "vector": half}]


def test_words_are_what_the_embedded_store_counts() -> None:
    """Each as often as it occurs: their order does not matter, and analysis is not done twice."""
    document = written(EncodedPaper(Paper("p", "The cats' neural nets", "Neural networks."), "m", sentences=("x",)))
    assert sorted(document["words"].split(" ")) == ["cat", "net", "network", "neural", "neural"]
    assert document["word_count"] == 5
    assert document["inverse_tf_norm"] == pytest.approx(1 / math.sqrt(3 + (1 + math.log(2)) ** 2))
    empty = written(EncodedPaper(Paper("p", "?"), "m", sentences=("?",)))
    assert (empty["words"], empty["word_count"], empty["inverse_tf_norm"]) == ("", 0, 0.0)


def test_what_dashboards_show() -> None:
    document = written(replace(bare(abstract="x"), keyphrases={"a. b": 2.0, "c": 1.0}, tokens={"t": 3.0}))
    assert document["has_abstract"] is True
    assert document["keyphrase_terms"] == ["a. b", "c"]
    assert document["sparse_norm"] == pytest.approx(math.sqrt(9 + 0.25 * 5))
    assert document["ingested_at"] == "2024-05-06T07:08:09.000+00:00"
    assert written(bare())["has_abstract"] is False


def test_dashboards_show_the_keyphrases_of_most_weight() -> None:
    """As they are compared: ten, without case, each once, and none without weight."""
    keyphrases = {**{f"phrase {i:02}": 1.0 + i for i in range(15)}, "Sea Ice": 50.0, "SEA ICE": 49.0, "nothing": 0.0}
    terms = written(replace(bare(), keyphrases=keyphrases))["keyphrase_terms"]
    assert terms == ["sea ice", *(f"phrase {i:02}" for i in range(14, 6, -1))]


def test_facets_are_folded_and_a_missing_text_is_empty() -> None:
    document = written(bare(venue="Straße", authors=("Åsa", "B"), access="embargoed"))
    assert document["facets"]["venue"] == "strasse"
    assert document["facets"]["authors"] == ["åsa", "b"]
    assert document["facets"]["doi"] == ""
    assert document["facets"]["keywords"] == []
    assert document["venue"] == "Straße"


def test_sentences_past_the_limit_of_nested_documents_are_kept_all_the_same() -> None:
    count = MOST_NESTED + 3
    many = replace(bare(), sentences=("s",) * count, sentence_vectors=np.ones((count, 1), np.float32))
    document = written(many)
    assert len(document["sentences"]) == MOST_NESTED
    assert len(to_paper(document).sentence_vectors) == count  # type: ignore[arg-type]


@given(first=st.text(max_size=3000), second=st.text(max_size=3000))
def test_document_ids_are_short_and_differ(first: str, second: str) -> None:
    first, second = (text.encode("utf-8", "replace").decode() for text in (first, second))
    assert len(document_id(first).encode()) <= 512
    assert (document_id(first) == document_id(second)) == (first == second)


def test_an_id_that_looks_like_a_hash_is_no_other_papers() -> None:
    long = "x" * 600
    assert document_id(document_id(long)) != document_id(long)
    assert document_id("doi:10.1/x") == "doi:10.1/x"


@pytest.mark.parametrize(
    ("encoded", "message"),
    [
        (bare(extra={"x": float("nan")}), "'p'.*JSON"),
        (bare(extra={"x": "\ud800"}), "'p'.*surrogate"),
        (bare(venue="\udfff"), "'p'.*surrogate"),
        (bare(year=2**31), "no year"),
        (replace(bare(), paper=Paper("x" * 40_000, "t")), "up to 32,766 bytes"),
        (replace(bare(), dense=np.array([np.inf], np.float32)), "'p'.*not finite"),
        (replace(bare(), sentence_vectors=np.ones((2, 3), np.float32)), "2 sentence vectors for 1"),
        (replace(bare(), tokens={"t": -1.0}), "'p'.*weighs"),
    ],
)
def test_what_could_not_be_kept_is_refused(encoded: EncodedPaper, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        to_document(encoded, nested=True, beta=0.25, now=NOW)
