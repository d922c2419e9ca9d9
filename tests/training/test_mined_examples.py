"""Examples of each source, before any is drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.training.example_files import ExampleFiles
from sciret.training.mined_examples import (
    Example,
    cited_title_examples,
    cited_titles,
    clean,
    cocitation_examples,
    cocited_pairs,
    context_examples,
    keyphrase_examples,
    query_examples,
    title_examples,
    title_id,
)

KNOWN = {"a", "b", "c"}


def written(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def context(
    *cited: dict[str, str], text: str = "A sentence that cites something [CITE].", citing: str = "z"
) -> dict[str, Any]:
    return {"citing": citing, "context": text, "cited": list(cited)}


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("as shown [CITE], and [CITE].", "as shown, and."),
        ("as shown (; ) before", "as shown before"),
        ("two  blanks\nand lines", "two blanks and lines"),
        ("(kept)", "(kept)"),
    ],
)
def test_citation_marks_are_removed(given: str, cleaned: str) -> None:
    assert clean(given) == cleaned


def test_a_context_asks_for_each_paper_of_the_corpus(tmp_path: Path) -> None:
    """The others that it cites answer it too; the citing paper never does."""
    path = written(tmp_path / "c.jsonl", context({"id": "a"}, {"id": "b"}, {"id": "x"}, {"id": "c"}, citing="c"))
    found = list(context_examples(path, KNOWN))
    assert [(each.positive, each.relevant, each.origin) for each in found] == [("a", ("b",), "c"), ("b", ("a",), "c")]


def test_contexts_that_say_too_little(tmp_path: Path) -> None:
    many = [{"id": "a"}, *({"title": f"Title number {n} of many"} for n in range(8))]
    path = written(tmp_path / "c.jsonl", context({"id": "a"}, text="See [CITE]."), context(*many))
    assert list(context_examples(path, KNOWN)) == []


def test_cited_papers_outside_the_corpus_are_titles(tmp_path: Path) -> None:
    cited = ({"id": "a", "title": "A known paper in it"}, {"title": "An  unknown paper outside"}, {"title": "Short"})
    path = written(tmp_path / "c.jsonl", context(*cited))
    assert [each.positive for each in cited_title_examples(path, KNOWN)] == [title_id("an unknown paper outside")]
    assert [paper.title for paper in cited_titles(path, KNOWN)] == ["An unknown paper outside"]


def test_cocitations_come_from_both_files(tmp_path: Path) -> None:
    pairs = written(tmp_path / "p.jsonl", {"a": "a", "b": "b", "contexts": ["One [CITE]."]}, {"a": "a", "b": "x"})
    contexts = written(tmp_path / "c.jsonl", context({"id": "c"}, {"id": "a"}))
    assert list(cocited_pairs(pairs, contexts, KNOWN)) == [
        ("a", "b", "One."),
        ("a", "c", "A sentence that cites something."),
    ]


def test_a_cocitation_asks_both_ways_once() -> None:
    """By title or by a sentence of the abstract, drawn."""
    texts = {i: Paper(i, f"Title of {i}", f"The first sentence of the paper {i}.") for i in "abcdefgh"}
    pairs = [(one, other, "s") for one in "abcdefgh" for other in "abcdefgh" if one < other] * 2
    found = list(cocitation_examples(pairs, texts.__getitem__, lambda text: [text], seed=0))
    assert len(found) == len({(each.positive, each.relevant) for each in found}) == 56
    titles = sum(each.query.startswith("Title") for each in found)
    assert 15 < titles < 41


def test_titles_need_an_abstract_and_some_words() -> None:
    papers = [
        Paper("a", "A title of five words", "Text."),
        Paper("b", "Editorial", "Text."),
        Paper("c", "No text of it here"),
    ]
    assert [each.positive for each in title_examples(papers, "file")] == ["a"]


def test_keyphrases_are_one_to_three_of_the_authors() -> None:
    keywords = ("gene regulation", "yeast", "chromatin", "histone")
    papers = [Paper(f"p{n}", "T", "Text.", keywords=keywords) for n in range(60)]
    found = [each.query.split(", ") for each in keyphrase_examples(papers, "", seed=0)]
    assert {len(each) for each in found} == {1, 2, 3}
    assert all(set(each) <= set(keywords) and len(set(each)) == len(each) for each in found)


def test_a_query_log_gives_what_was_opened_and_what_was_not(tmp_path: Path) -> None:
    path = written(
        tmp_path / "q.jsonl",
        {"query": "gene", "clicked": ["a", "b", "x"], "shown": ["c", "a", "y"]},
        {"query": "...", "clicked": ["a"]},
        {"query": "nothing opened", "clicked": []},
    )
    found = list(query_examples(path, KNOWN))
    assert [(each.positive, each.relevant, each.shown) for each in found] == [
        ("a", ("b",), ("c",)),
        ("b", ("a",), ("c",)),
    ]


def test_a_broken_gzip_stream_is_an_error(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "c.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(context({"id": "a"})).encode() * 100)[:-20])
    with pytest.raises(RecordError):
        list(context_examples(str(path), KNOWN))


def test_examples_are_read_as_they_were_written(tmp_path: Path) -> None:
    files = ExampleFiles(tmp_path)
    found = [Example("queries", "naïve\nquery", "a", "o", ("b",), ("c", "d")), Example("queries", "x", "b", "p")]
    assert list(files.written("queries", found)) == found
    assert list(files.read("queries")) == found


def test_papers_leave_their_titles_and_keyphrases_behind(tmp_path: Path) -> None:
    files = ExampleFiles(tmp_path)
    files.clear()
    for stratum in ("one", "two"):
        papers = [Paper(stratum, "A title of five words", "Text.", keywords=("gene regulation",))]
        assert list(files.watch(papers, stratum, seed=0)) == papers
    assert [(each.positive, each.stratum) for each in files.read("titles")] == [("one", "one"), ("two", "two")]
    assert [each.query for each in files.read("keyphrases")] == ["gene regulation"] * 2
