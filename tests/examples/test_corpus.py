"""The example corpus is what its README says it is: the demo, the documentation and other tests count on it."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import bibtexparser
import pytest
import rispy
from bibtexparser.customization import convert_to_unicode

from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.sources.record import Record, paper_from_record

EXAMPLES = Path(__file__).parents[2] / "examples"
TYPES = {"article", "conference paper", "thesis", "report"}


def lines(name: str) -> list[dict[str, Any]]:
    with (EXAMPLES / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


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
    papers = {}
    for number, record in enumerate(lines("corpus.jsonl"), start=1):
        paper = paper_from_record(Record(f"corpus.jsonl:{number}", record))
        assert isinstance(paper, Paper), str(paper)
        assert paper.id not in papers
        papers[paper.id] = paper
    return papers


@pytest.fixture(scope="module")
def queries() -> list[dict[str, Any]]:
    return lines("queries.jsonl")


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
        assert all(re.fullmatch(r"[^,]+, [^,]+", author) for author in paper.authors), paper.id
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
    """At least 12 of 24 have no more than half of their longer words in the text of any paper that answers them."""
    best = {row["qid"]: "" for row in judgements()}
    for row in judgements():
        best[row["qid"]] += corpus[row["docid"]].text.lower()
    few = 0
    for query in queries[:24]:
        words = re.findall(r"[a-z]{4,}", query["text"].lower())
        few += 2 * sum(word in best[query["id"]] for word in words) <= len(words)
    assert few >= 12


def test_refused_lines_are_refused_each_for_another_reason() -> None:
    """One line is not JSON, one repeats an id, four are refused by their fields; only the first is accepted."""
    raw = (EXAMPLES / "refused.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(raw) == 7
    with pytest.raises(json.JSONDecodeError):
        json.loads(raw.pop(2))
    first, empty, repeated, *others = [paper_from_record(Record("refused.jsonl", json.loads(line))) for line in raw]
    assert isinstance(first, Paper)
    assert isinstance(repeated, Paper)
    assert repeated.id == first.id
    words = ("title", "year", "NUL", "access")
    for refused, word in zip((empty, *others), words, strict=True):
        assert isinstance(refused, RecordError)
        assert word in refused.reason


def test_other_formats_hold_the_same_five_papers(corpus: Mapping[str, Paper]) -> None:
    """CSV has every field of the corpus; BibTeX and RIS what these formats have a place for."""
    with (EXAMPLES / "papers.csv").open(encoding="utf-8", newline="") as file:
        table = {row["id"]: row for row in csv.DictReader(file)}
    bibtex = bibtexparser.loads(
        (EXAMPLES / "papers.bib").read_text(encoding="utf-8"),
        bibtexparser.bparser.BibTexParser(customization=convert_to_unicode, ignore_nonstandard_types=False),
    ).entries_dict
    ris = {entry["id"]: entry for entry in rispy.loads((EXAMPLES / "papers.ris").read_text(encoding="utf-8"))}
    assert table.keys() == bibtex.keys() == ris.keys()
    assert len(table) == 5
    for name, row in table.items():
        paper = paper_from_record(Record("papers.csv", row))
        assert paper == corpus[name]
        assert bibtex[name]["author"].split(" and ") == ris[name]["authors"] == list(corpus[name].authors)
        assert bibtex[name]["title"].strip("{}") == ris[name]["title"] == corpus[name].title
        assert bibtex[name].get("abstract", "") == ris[name].get("abstract", "") == corpus[name].abstract
        assert int(bibtex[name]["year"]) == int(ris[name]["year"]) == corpus[name].year
        assert bibtex[name]["doi"] == ris[name]["doi"] == corpus[name].doi
        assert bibtex[name]["keywords"].split("; ") == ris[name]["keywords"] == list(corpus[name].keywords)
