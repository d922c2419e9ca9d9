"""BM25 and TF-IDF against their definitions, and lengths as Lucene rounds them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sciret.encoders.lexical import Collection, bm25, query_weights, rounded, tf_norm, tfidf

COLLECTION = Collection(papers=100, words=5000)
HAVING = np.array([1, 50, 100])
IN_QUERY = np.array([1, 2, 3])


def test_bm25_is_a_share_of_what_the_query_could_reach() -> None:
    """A paper that had nothing but the query's words, endlessly often, would come to 1."""
    weights = query_weights("bm25", COLLECTION, HAVING, IN_QUERY)
    idf = [math.log(1 + (100 - n + 0.5) / (n + 0.5)) for n in HAVING]
    np.testing.assert_allclose(weights, np.array(idf) * IN_QUERY / np.dot(idf, IN_QUERY))
    assert weights.sum() == pytest.approx(1)
    assert (weights * bm25(np.array([1e9] * 3), np.zeros(3))).sum() == pytest.approx(1)


def test_bm25_of_a_word() -> None:
    assert bm25(np.array([2.0]), np.array([0.5]))[0] == pytest.approx(2 / (2 + 1.2 * (0.25 + 0.75 * 0.5)))


def test_tfidf_is_a_cosine() -> None:
    """Of vectors that both have length 1; a word that every paper has tells nothing."""
    weights = query_weights("tfidf", COLLECTION, HAVING, IN_QUERY)
    raw = np.log(100 / HAVING) * (1 + np.log(IN_QUERY))
    np.testing.assert_allclose(weights, raw / np.linalg.norm(raw))
    assert weights[2] == 0
    counts = {"a": 1, "b": 4}
    parts = tfidf(np.array([1.0, 4.0]), np.array([tf_norm(counts)] * 2))
    assert np.linalg.norm(parts) == pytest.approx(1)


def test_words_that_all_papers_have_make_no_division_by_zero() -> None:
    assert query_weights("tfidf", COLLECTION, np.array([100]), np.array([1])).tolist() == [0.0]


def test_an_empty_collection_has_an_average() -> None:
    assert Collection(0, 0).average == 1.0


def test_lengths_are_rounded_as_lucene_does() -> None:
    """SmallFloat.byte4ToInt(intToByte4(n)): known values, and never up."""
    lengths = np.array([0, 1, 23, 24, 39, 40, 41, 42, 55, 56, 60, 1000, 10**6])
    assert rounded(lengths).tolist() == [0, 1, 23, 24, 39, 40, 40, 42, 54, 56, 60, 984, 983_064]
    every = np.arange(100_000)
    assert (rounded(every) <= every).all()
    assert (np.diff(rounded(every)) >= 0).all()
    assert len(np.unique(rounded(np.arange(2**31 - 1, step=9973)))) <= 256
