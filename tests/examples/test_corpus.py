"""The example corpus is what its README says it is: the demo, the documentation and other tests count on it."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.sources.reader import open_source

EXAMPLES = Path(__file__).parents[2] / "examples"
TYPES = {"article", "conference paper", "thesis", "report"}


def papers(name: str) -> dict[str, Paper]:
    """By id, as the readers of `sciret ingest` give them; duplicate ids are among what these refuse."""
    found = list(open_source(str(EXAMPLES / name)))
    assert [str(each) for each in found if not isinstance(each, Paper)] == []
    return {paper.id: paper for paper in found if isinstance(paper, Paper)}


def sentences(paper: Paper) -> tuple[str, ...]:
    """The abstracts avoid abbreviations: every full stop before a space ends a sentence."""
    return paper.sentences or tuple(re.split(r"(?<=[.?!])\s+", paper.abstract)) if paper.abstract else ()


def judgements() -> list[dict[str, str]]:
    with (EXAMPLES / "qrels.tsv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t")
        assert reader.fieldnames == ["qid", "docid", "rel"]
        return list(reader)


@pytest.fixture(scope="module")
def corpus() -> Mapping[str, Paper]:
    return papers("corpus.jsonl")


@pytest.fixture(scope="module")
def queries() -> list[dict[str, Any]]:
    text = (EXAMPLES / "queries.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_every_line_is_a_paper_with_a_number_of_its_own(corpus: Mapping[str, Paper]) -> None:
    """Ids run from ex-001 without a gap, in the order of the file, and no field is unknown to Paper."""
    assert list(corpus) == [f"ex-{n:03}" for n in range(1, 133)]
    assert not [paper.id for paper in corpus.values() if paper.extra]


def test_eleven_fields_have_twelve_papers_each(corpus: Mapping[str, Paper]) -> None:
    counts = Counter(paper.collections for paper in corpus.values())
    assert len(counts) == 11
    assert set(counts.values()) == {12}


def test_every_record_is_complete(corpus: Mapping[str, Paper]) -> None:
    """Authors, year, keywords, venue, type and a DOI under the prefix for examples, which no two papers share."""
    for paper in corpus.values():
        assert 2 <= len(paper.authors) <= 4, paper.id
        assert not [author for author in paper.authors if "," in author], paper.id
        assert 3 <= len(set(paper.keywords)) == len(paper.keywords) <= 6, paper.id
        assert paper.year in range(2004, 2025), paper.id
        assert paper.type in TYPES, paper.id
        assert paper.venue, paper.id
        assert paper.language == "en", paper.id
        assert (paper.doi or "").startswith("10.5555/"), paper.id
    assert len({paper.doi for paper in corpus.values()}) == len({paper.title for paper in corpus.values()}) == 132


def test_abstracts_are_short_and_have_a_rhetorical_course(corpus: Mapping[str, Paper]) -> None:
    """Four to seven sentences of about a hundred words; four records have a title only, three come in sentences."""
    written = [paper for paper in corpus.values() if paper.abstract]
    assert len(corpus) - len(written) == 4
    assert len([paper for paper in written if paper.sentences]) == 3
    for paper in written:
        assert 4 <= len(sentences(paper)) <= 7, paper.id
        assert 80 <= len(paper.abstract.split()) <= 130, paper.id
        assert all(re.fullmatch(r"[A-Z].*[.?!]", sentence) for sentence in sentences(paper)), paper.id


def test_six_papers_are_not_simply_open(corpus: Mapping[str, Paper]) -> None:
    """One of the three embargoes has ended: that paper can be searched, the other five cannot."""
    counts = Counter(paper.access for paper in corpus.values())
    assert counts == {"open": 126, "embargoed": 3, "restricted": 2, "metadata_only": 1}
    embargoed = {paper.embargo_end: paper for paper in corpus.values() if paper.embargo_end}
    assert sorted(embargoed) == ["2021-06-30", "2099-01-01", "2099-06-30"]
    assert embargoed["2021-06-30"].is_searchable()
    assert len([paper for paper in corpus.values() if not paper.is_searchable()]) == 5


def test_references_lead_to_earlier_papers_of_the_corpus(corpus: Mapping[str, Paper]) -> None:
    cited = [(paper, corpus[reference]) for paper in corpus.values() for reference in paper.references]
    assert len(cited) >= 60
    for paper, reference in cited:
        assert paper.year is not None
        assert reference.year is not None
        assert reference.year < paper.year, f"{paper.id} cites {reference.id}"


def test_queries_are_texts_or_sentences_of_a_paper(corpus: Mapping[str, Paper], queries: list[dict[str, Any]]) -> None:
    """24 ask in words; 4 name an open paper and sentences that it has."""
    assert [query["id"] for query in queries] == [f"q{n:02}" for n in range(1, 29)]
    texts = [query for query in queries if query.keys() == {"id", "text"}]
    alike = [query for query in queries if query.keys() == {"id", "like", "sentences"}]
    assert (len(texts), len(alike)) == (24, 4)
    assert all(query["text"].strip() for query in texts)
    for query in alike:
        paper = corpus[query["like"]]
        assert paper.is_searchable()
        assert set(query["sentences"]) < set(range(1, len(sentences(paper)) + 1)), query["id"]


def test_every_query_has_an_answer_that_can_be_found(
    corpus: Mapping[str, Paper], queries: list[dict[str, Any]]
) -> None:
    """Judged papers exist, are searchable, are judged once a query, and are never the query itself."""
    judged = judgements()
    pairs = [(row["qid"], row["docid"]) for row in judged]
    like = {query["id"]: query.get("like") for query in queries}
    assert len(set(pairs)) == len(pairs)
    assert {row["qid"] for row in judged if row["rel"] == "2"} == set(like)
    assert {row["rel"] for row in judged} == {"1", "2"}
    for query, paper in pairs:
        assert corpus[paper].is_searchable(), paper
        assert paper != like[query]


def test_half_of_the_questions_share_few_words_with_their_answers(
    corpus: Mapping[str, Paper], queries: list[dict[str, Any]]
) -> None:
    """12 or more of 24 have at most half of their longer words in all the papers together that answer them."""
    answers: defaultdict[str, str] = defaultdict(str)
    for row in judgements():
        answers[row["qid"]] += corpus[row["docid"]].text.lower()
    few = 0
    for query in queries[:24]:
        words = re.findall(r"[a-z]{4,}", query["text"].lower())
        few += 2 * sum(word in answers[query["id"]] for word in words) <= len(words)
    assert few >= 12


def test_refused_lines_are_refused_each_for_another_reason() -> None:
    """Only the first of the seven lines is accepted; every refusal names its line."""
    first, *refused = open_source(str(EXAMPLES / "refused.jsonl"))
    assert isinstance(first, Paper)
    expected = ("title is empty", "JSON", first.id, "year", "NUL", "access")
    for number, (error, words) in enumerate(zip(refused, expected, strict=True), start=2):
        assert isinstance(error, RecordError)
        assert error.where.endswith(f"refused.jsonl:{number}")
        assert words in error.reason


def test_a_table_holds_five_papers_as_the_corpus_has_them(corpus: Mapping[str, Paper]) -> None:
    table = papers("papers.csv")
    assert len(table) == 5
    assert table == {name: corpus[name] for name in table}


@pytest.mark.parametrize("name", ["papers.bib", "papers.ris"])
def test_reference_managers_formats_hold_the_same_five_papers(name: str, corpus: Mapping[str, Paper]) -> None:
    """Whatever these formats have a field for; types are named in each format's own words."""
    found = papers(name)
    assert found.keys() == papers("papers.csv").keys()
    for paper in found.values():
        expected = corpus[paper.id]
        for field in ("title", "abstract", "authors", "year", "keywords", "doi", "language"):
            assert getattr(paper, field) == getattr(expected, field), f"{paper.id} {field}"
