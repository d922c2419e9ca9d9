"""Bodies of search requests, one function a question. Nothing here talks to a server."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from sciret.connector.features import escape
from sciret.connector.filters import Clause, by_ids, searchable
from sciret.encoded import Vector
from sciret.encoders.lexical import K1, B
from sciret.store import Lexical

Body = dict[str, Any]

CLAUSES = 1000
"""Words or features of one query. OpenSearch takes 1,024 clauses, and the filters are some of them."""
DEEPEST = 10_000
"""Hits that a search may have (`index.max_result_window`, and k of kNN)."""
EF_SEARCH = 256
"""Vectors that a graph search keeps in view. What it misses with so many: tests/retrieval/test_both_stores.py."""
_TINY = 1e-12
"""Less than any score of a paper that has a word of the query."""

_EXACT: dict[Lexical, str] = {
    "bm25": """
        int length = (int) doc['word_count'].value;
        if (length > 24) {
            int excess = length - 24;
            int shift = (int) Math.max(28 - Integer.numberOfLeadingZeros(excess), 0);
            length = 24 + ((excess >> shift) << shift);
        }
        double norm = params.k1 * (1 - params.b + params.b * length / params.average);
        double score = 0;
        for (int i = 0; i < params.terms.length; ++i) {
            double count = termFreq('words', params.terms[i]);
            score += params.weights[i] * count / (count + norm);
        }
        return score;
    """,
    "tfidf": """
        double score = 0;
        for (int i = 0; i < params.terms.length; ++i) {
            double count = termFreq('words', params.terms[i]);
            if (count > 0) { score += params.weights[i] * (1 + Math.log(count)); }
        }
        return score * doc['inverse_tf_norm'].value;
    """,
}
"""`encoders.lexical` in the server's language, lengths as coarse as Lucene's included."""


def lexical(sparse: Lexical, terms: Mapping[str, int], k: int, admitted: Clause) -> Body:
    """The papers that the server's own statistics rank highest by the query's words."""
    field = "words" if sparse == "bm25" else "words.tf"
    if len(terms) > CLAUSES:
        matching = _most_telling(field, terms)
    else:
        weight = _count if sparse == "bm25" else _dampened
        matching = _any([{"term": {field: {"value": term, "boost": weight(n)}}} for term, n in terms.items()])
    if sparse == "tfidf":
        norm = {"field": "inverse_tf_norm", "missing": 0}
        matching = {"function_score": {"query": matching, "field_value_factor": norm, "boost_mode": "multiply"}}
    return {**_ranked({"bool": {"must": [matching], "filter": [admitted]}}, k), "min_score": _TINY}


def exact_lexical(sparse: Lexical, weights: Mapping[str, float], average: float, k: int, admitted: Clause) -> Body:
    """The same by statistics of live papers, which the caller brings: every score is exact, whatever was deleted."""
    script = {
        "source": _EXACT[sparse],
        "params": {"terms": list(weights), "weights": list(weights.values()), "average": average, "k1": K1, "b": B},
    }
    having = {"bool": {"filter": [{"terms": {"words": list(weights)}}, admitted]}}
    return _settled({"script_score": {"query": having, "script": script, "min_score": _TINY}}, k)


def nearest(vector: Vector, k: int, admitted: Clause) -> Body:
    """By the graph of document vectors; the filter holds inside it. vector: [d]"""
    return _ranked(_knn("dense", vector, k, admitted), k)


def exact_nearest(vector: Vector, k: int, admitted: Clause) -> Body:
    """By every document vector."""
    return _settled(_knn_score("dense", vector, admitted), k)


def nearest_sentences(vectors: Vector, k: int, admitted: Clause) -> Body:
    """The papers of the sentences that come nearest to any of the query's. vectors: [q, d]"""
    best = [_nested(_knn("sentences.vector", vector, k, admitted)) for vector in vectors]
    return _ranked({"dis_max": {"queries": best}}, k)


def exact_nearest_sentences(vectors: Vector, k: int, admitted: Clause) -> Body:
    """By every sentence vector."""
    best = [_nested(_knn_score("sentences.vector", vector)) for vector in vectors]
    return _settled({"bool": {"must": [{"dis_max": {"queries": best}}], "filter": [admitted]}}, k)


def rank_features(
    tokens: Mapping[str, float], keyphrases: Mapping[str, float], beta: float, k: int, admitted: Clause
) -> Body:
    """The learned sparse channel on any OpenSearch: Σ q_t·d_t + β Σ q_k·d_k over the heaviest features."""
    clauses = [
        {"rank_feature": {"field": f"{field}.{escape(name)}", "boost": weight, "linear": {}}}
        for field, name, weight in _heaviest(tokens, keyphrases, beta)
    ]
    return _ranked({"bool": {"must": [_any(clauses)], "filter": [admitted]}}, k)


def neural_sparse(
    tokens: Mapping[str, float], keyphrases: Mapping[str, float], beta: float, k: int, admitted: Clause
) -> Body:
    """The same sum where the neural-search plugin is there, which skips papers that cannot be among the k best."""
    chosen = _heaviest(tokens, keyphrases, beta)
    parts = [
        {"neural_sparse": {field: {"query_tokens": {escape(name): weight for f, name, weight in chosen if f == field}}}}
        for field in dict.fromkeys(field for field, _, _ in chosen)
    ]
    return _ranked({"bool": {"must": [_any(parts)], "filter": [admitted]}}, k)


def chosen(ids: Sequence[str], admitted: Clause) -> Body:
    """Which of these papers there are and the filter admits."""
    return {**_ranked({"bool": {"filter": [by_ids(ids), admitted]}}, len(ids)), "sort": ["_doc"]}


def records(ids: Sequence[str], fields: Sequence[str]) -> Body:
    """These papers themselves."""
    return {
        "size": len(ids),
        "query": by_ids(ids),
        "sort": ["_doc"],
        "track_total_hits": False,
        "_source": {"includes": list(fields)},
    }


def found_ids(answer: Mapping[str, Any]) -> list[str]:
    """Of papers in the answer to a body that ranks them, best first."""
    return [hit["fields"]["id"][0] for hit in answer["hits"]["hits"]]


def having(term: str) -> Body:
    """How many papers have a word. Counted by the term's own list: an aggregation would look at every paper."""
    return {"size": 0, "track_total_hits": True, "query": {"term": {"words": term}}}


def collection() -> Body:
    """How many papers have any word, and how many they have together. The server remembers it between writes."""
    with_words = {"range": {"word_count": {"gt": 0}}}
    return {
        "size": 0,
        "track_total_hits": True,
        "query": with_words,
        "aggs": {"words": {"sum": {"field": "word_count"}}},
    }


def figures(day: date) -> Body:
    """Counts for people."""
    return {
        "size": 0,
        "track_total_hits": True,
        "query": {"match_all": {}},
        "aggs": {
            "searchable": {"filter": searchable(day)},
            "sentences": {"sum": {"field": "sentence_count"}},
            "words": {"sum": {"field": "word_count"}},
            "first_year": {"min": {"field": "year"}},
            "last_year": {"max": {"field": "year"}},
        },
    }


def _ranked(query: Clause, k: int) -> Body:
    """Best first. Ids come from their column: a hit's stored fields would be unpacked with its vectors and text."""
    return {
        "size": k,
        "query": query,
        "track_total_hits": False,
        "stored_fields": "_none_",
        "docvalue_fields": ["id"],
    }


def _settled(query: Clause, k: int) -> Body:
    """Equal scores by id."""
    return {**_ranked(query, k), "sort": [{"_score": "desc"}, {"id": "asc"}]}


def _any(clauses: Sequence[Clause]) -> Clause:
    return {"bool": {"should": list(clauses), "minimum_should_match": 1}} if clauses else {"match_none": {}}


def _most_telling(field: str, terms: Mapping[str, int]) -> Clause:
    """Of more words than a query may have, those that the server finds the most selective."""
    return {
        "more_like_this": {
            "fields": [field],
            "like": " ".join(term for term, count in terms.items() for _ in range(count)),
            "max_query_terms": CLAUSES,
            "min_term_freq": 1,
            "min_doc_freq": 1,
            "minimum_should_match": "1",
        }
    }


def _count(times: int) -> float:
    return float(times)


def _dampened(times: int) -> float:
    return 1 + math.log(times)


def _knn(field: str, vector: Vector, k: int, admitted: Clause) -> Clause:
    wanted = {"vector": vector.tolist(), "k": k, "method_parameters": {"ef_search": max(k, EF_SEARCH)}}
    return {"knn": {field: wanted if admitted == {"match_all": {}} else {**wanted, "filter": admitted}}}


def _knn_score(field: str, vector: Vector, admitted: Clause | None = None) -> Clause:
    script = {
        "lang": "knn",
        "source": "knn_score",
        "params": {"field": field, "query_value": vector.tolist(), "space_type": "innerproduct"},
    }
    clauses = [{"exists": {"field": field}}, *([admitted] if admitted else [])]
    return {"script_score": {"query": {"bool": {"filter": clauses}}, "script": script}}


def _nested(query: Clause) -> Clause:
    return {"nested": {"path": "sentences", "score_mode": "max", "query": query}}


def _heaviest(
    tokens: Mapping[str, float], keyphrases: Mapping[str, float], beta: float
) -> list[tuple[str, str, float]]:
    """Field, name and weight of the features that matter most, as many as a query may have."""
    weighed = [("tokens", name, float(weight)) for name, weight in tokens.items()]
    weighed += [("keyphrases", name, beta * float(weight)) for name, weight in keyphrases.items()]
    return sorted((each for each in weighed if each[2] > 0), key=lambda each: -each[2])[:CLAUSES]
