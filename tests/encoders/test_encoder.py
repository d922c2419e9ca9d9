from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from sciret.encoded import EncodedPaper, Vector
from sciret.encoders.bundle import ROLES
from sciret.encoders.encoder import Encoder
from sciret.errors import BundleError, QueryError
from sciret.paper import Paper

MakeBundle = Callable[..., str]
DUNES = Paper(
    "dunes", "Migration of desert dunes", "Dunes migrate with the wind. We measured their speed by satellite."
)
ENZYME = Paper("enzyme", "A heat-stable enzyme", "Enzymes unfold when heated. We evolved a protein that does not.")


def encode(encoder: Encoder, *papers: Paper) -> list[EncodedPaper]:
    return list(encoder.encode_papers(papers))


def vectors(paper: EncodedPaper) -> tuple[Vector, Vector]:
    assert paper.dense is not None
    assert paper.sentence_vectors is not None
    return paper.dense, paper.sentence_vectors


def many(count: int) -> list[Paper]:
    """Papers of very different lengths, so that batching has something to reorder."""
    lengths = np.random.default_rng(3).integers(0, 60, count)
    return [Paper(str(i), f"Title {i}", "word " * int(n)) for i, n in enumerate(lengths)]


def test_one_pass_gives_document_and_sentence_vectors(encoder: Encoder) -> None:
    """float32, of unit length, one row a sentence, and marked with the model that made them."""
    [paper] = encode(encoder, DUNES)
    dense, sentences = vectors(paper)
    assert paper.paper is DUNES
    assert paper.model == encoder.model == encoder.bundle.fingerprint
    assert dense.shape == (encoder.bundle.dims,)
    assert sentences.shape == (2, encoder.bundle.dims)
    assert dense.dtype == sentences.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm([dense, *sentences], axis=1), 1, atol=1e-5)
    assert len(paper.roles) == (len(paper.sentences) if ROLES in encoder.bundle.files else 0)


def test_vectors_carry_meaning(encoder: Encoder) -> None:
    """A query without a word in common is nearer to the paper, and to the sentence, that answers it."""
    query = encoder.encode_query("How fast do sand hills move?")
    assert query.dense is not None
    assert query.sentence_vectors is not None
    dunes, enzyme = encode(encoder, DUNES, ENZYME)
    assert query.dense @ vectors(dunes)[0] > query.dense @ vectors(enzyme)[0] + 0.05
    assert (query.sentence_vectors @ vectors(dunes)[1].T).max() > (query.sentence_vectors @ vectors(enzyme)[1].T).max()


def test_sentence_vectors_know_their_context(encoder: Encoder) -> None:
    """The same words in another paper are another vector."""
    here, there = encode(
        encoder,
        Paper("1", DUNES.title, sentences=("Speed was measured.", "Dunes migrate.")),
        Paper("2", ENZYME.title, sentences=("Speed was measured.", "Enzymes unfold.")),
    )
    assert vectors(here)[1][0] @ vectors(there)[1][0] < 0.99


def test_vectors_do_not_depend_on_the_other_papers(encoder: Encoder) -> None:
    """To the last bit: a paper is encoded the same alone and in any company."""
    papers = [DUNES, ENZYME, Paper("t", "Short"), Paper("l", "Long", "Dunes migrate with the wind. " * 30)]
    for together, paper in zip(encode(encoder, *papers), papers, strict=True):
        [alone] = encode(encoder, paper)
        for left, right in zip(vectors(together), vectors(alone), strict=True):
            np.testing.assert_array_equal(left, right)


def test_batched_vectors_are_those_of_single_papers(small_encoder: Encoder) -> None:
    """Padding leaves no trace, and the order is that of the input over several windows."""
    papers = many(600)
    together = encode(small_encoder, *papers)
    assert [one.paper.id for one in together] == [paper.id for paper in papers]
    for one in together[::37]:
        [alone] = encode(small_encoder, one.paper)
        for left, right in zip(vectors(one), vectors(alone), strict=True):
            np.testing.assert_allclose(left, right, atol=1e-6)


def test_papers_are_taken_only_a_little_ahead(encoder: Encoder, small_encoder: Encoder) -> None:
    """An endless source is encoded as it comes, and stopping early leaves no thread behind."""
    for one, ahead in ((encoder, 20), (small_encoder, 1000)):
        counter = itertools.count()
        stream: Iterator[EncodedPaper] = one.encode_papers(Paper(str(n), "Dunes") for n in counter)
        assert next(stream).paper.id == "0"
        assert next(counter) < ahead
        stream.close()  # type: ignore[attr-defined]  # the iterator is a generator


def test_error_in_the_source_reaches_the_caller(encoder: Encoder) -> None:
    """It is neither swallowed nor wrapped."""

    def source() -> Iterator[Paper]:
        yield DUNES
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        list(encoder.encode_papers(source()))


def test_truncation_is_reported(encoder: Encoder) -> None:
    """Only for the paper it happened to; its later sentences carry the last vector read."""
    long = Paper("long", "Long", sentences=tuple(f"Dune number {n} migrates with the wind." for n in range(90)))
    short, cut = encode(encoder, DUNES, long)
    assert (short.truncated, cut.truncated) == (False, True)
    assert len(cut.sentences) == 90
    sentences = vectors(cut)[1]
    np.testing.assert_array_equal(sentences[-1], sentences[-2])
    assert not np.array_equal(sentences[0], sentences[1])


def test_odd_texts_have_finite_vectors(encoder: Encoder) -> None:
    """Nothing that a reader lets through may put a NaN or a zero vector into a store."""
    odd = [
        Paper("1", ""),
        Paper("2", "\x00"),
        Paper("3", "\ud800", "\udfff. \x07"),
        Paper("4", "T", sentences=("", "")),
    ]
    for paper in encode(encoder, *odd):
        np.testing.assert_allclose(np.linalg.norm(vectors(paper)[1], axis=1), 1, atol=1e-5)
        assert len(paper.sentences) == len(vectors(paper)[1]) >= 1


def test_query_prefix_is_for_the_document_vector_only(make_bundle: MakeBundle) -> None:
    """Sentence vectors are those of the bare text."""
    encoder = Encoder.open(make_bundle(query_prefix="Find this: "), device="cpu")
    query = encoder.encode_query("dunes migrate")
    assert query.dense is not None
    assert query.sentence_vectors is not None
    bare, prefixed = encode(encoder, Paper("1", "dunes migrate"), Paper("2", "Find this: dunes migrate"))
    assert float(query.dense @ vectors(prefixed)[0]) == pytest.approx(1, abs=1e-5)
    assert float(query.dense @ vectors(bare)[0]) < 0.99
    assert float(query.sentence_vectors[0] @ vectors(bare)[1][0]) == pytest.approx(1, abs=1e-5)


def test_query_has_a_vector_for_each_sentence(encoder: Encoder) -> None:
    """The text for the lexical channels is what was read, without the prefix."""
    query = encoder.encode_query("  Do dunes migrate? How fast?\n")
    assert query.text == "Do dunes migrate? How fast?"
    assert query.sentences == ("Do dunes migrate?", "How fast?")
    assert query.sentence_vectors is not None
    assert query.sentence_vectors.shape == (2, encoder.bundle.dims)
    assert (query.model, query.like, query.aspect) == (encoder.model, None, False)


def test_blank_query_is_refused(encoder: Encoder) -> None:
    """There is nothing to search for."""
    with pytest.raises(QueryError):
        encoder.encode_query("   ")


def test_unknown_bundle_is_refused() -> None:
    """The message says which bundles there are."""
    with pytest.raises(BundleError, match="default"):
        Encoder.open("no-such-bundle")


def test_import_is_light() -> None:
    """onnxruntime is loaded when an encoder is opened, and torch never."""
    code = "import sys, sciret.encoders.encoder; sys.exit(any(m in sys.modules for m in ('onnxruntime', 'torch')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
