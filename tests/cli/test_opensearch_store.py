"""The commands on a store on OpenSearch: the same answers as from a file, and errors that say what to do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from sciret.connector.local_node import fetch

PAPERS = Path(__file__).parent / "papers.jsonl"
Sciret = Callable[..., Result]
ALIAS = "cli-commands"


@pytest.fixture(scope="module")
def name(opensearch: Any, sciret: Sciret) -> Iterator[str]:
    """A filled store, for tests that only read it."""
    address = f"{opensearch.url}/{ALIAS}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIRET_THREADS", "1")
        result = sciret("ingest", PAPERS, "--store", address, "--rejects", "/dev/null")
    assert result.exit_code == 0, result.output
    yield address
    fetch(opensearch.url, f"/{ALIAS}-*", None, "DELETE")
    fetch(opensearch.url, f"/_index_template/sciret-{ALIAS}", None, "DELETE")


def answer(sciret: Sciret, *arguments: str | Path) -> Any:
    result = sciret(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


QUESTIONS = {
    "text": ["how do bees find flowers"],
    "like": ["--like", "bee"],
    "aspect": ["--like", "bee", "--sentences", "2"],
    "filtered": ["plants", "--where", "year>=2000", "--sparse", "tfidf"],
    "second page": ["plants and light", "-k", "2", "--from", "2"],
    "everything": ["data", "--access", "all", "--rerank", "none"],
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_search_answers_as_it_does_on_a_file(sciret: Sciret, filled: Path, name: str, question: str) -> None:
    """To the last rank, with exact candidates and, on so few papers, with graphs too."""
    expected = answer(sciret, "search", *QUESTIONS[question], "--store", filled, "--explain")
    for exact in ([], ["--exact"]):
        found = answer(sciret, "search", *QUESTIONS[question], "--store", name, "--explain", *exact)
        assert [(hit["rank"], hit["id"]) for hit in found["hits"]] == [
            (hit["rank"], hit["id"]) for hit in expected["hits"]
        ]
        for mine, theirs in zip(found["hits"], expected["hits"], strict=True):
            assert mine["score"] == pytest.approx(theirs["score"], abs=1e-4)
            assert mine.keys() == theirs.keys()
        assert found["settings"] == expected["settings"]


def test_pages_follow_on_each_other(sciret: Sciret, name: str) -> None:
    whole = answer(sciret, "search", "light", "--store", name, "-k", "6")["hits"]
    pages = [
        hit
        for start in ("0", "3")
        for hit in answer(sciret, "search", "light", "--store", name, "-k", "3", "--from", start)["hits"]
    ]
    assert [(hit["rank"], hit["id"]) for hit in pages] == [(hit["rank"], hit["id"]) for hit in whole]


def test_show_shows_the_same(sciret: Sciret, filled: Path, name: str) -> None:
    assert answer(sciret, "show", "bee", "--store", name) == answer(sciret, "show", "bee", "--store", filled)


def test_stats_count_the_same(sciret: Sciret, filled: Path, name: str) -> None:
    mine, theirs = (answer(sciret, "stats", "--store", store) for store in (name, filled))
    shared = mine.keys() & theirs.keys() - {"store", "bytes"}
    assert {key: mine[key] for key in shared} == {key: theirs[key] for key in shared}
    assert {"papers", "searchable", "sentences", "words", "model", "dims"} <= shared
    assert mine["index"] == f"{ALIAS}-000001"


def test_a_second_ingest_skips_what_is_there_and_a_deleted_paper_comes_back(sciret: Sciret, name: str) -> None:
    count = len(PAPERS.read_text(encoding="utf-8").splitlines())
    assert answer(sciret, "ingest", PAPERS, "--store", name)["unchanged"] == count
    gone = sciret("delete", "bee", "nobody", "--store", name)
    assert (gone.exit_code, gone.stdout) == (1, "1 deleted, 1 not there\n")
    assert sciret("show", "bee", "--store", name).exit_code == 2
    again = answer(sciret, "ingest", PAPERS, "--store", name)
    assert (again["written"], again["unchanged"]) == (1, count - 1)
    assert answer(sciret, "show", "bee", "--store", name)["id"] == "bee"


def test_a_store_that_is_not_there(sciret: Sciret, opensearch: Any) -> None:
    """Only an ingest makes one."""
    for command in (["search", "x"], ["show", "p"], ["stats"], ["delete", "p"]):
        result = sciret(*command, "--store", f"{opensearch.url}/nowhere")
        assert result.exit_code == 1
        assert "no index 'nowhere'" in result.stderr
        assert "`sciret ingest` makes one" in result.stderr


def test_a_server_that_is_not_there(sciret: Sciret) -> None:
    result = sciret("stats", "--store", "http://127.0.0.1:9/papers")
    assert result.exit_code == 1
    assert "http://127.0.0.1:9/papers: no connection" in result.stderr
    assert "Traceback" not in result.output


def test_unverified_certificates_are_warned_about(sciret: Sciret, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every time, on stderr, where scripts do not swallow it."""
    monkeypatch.setenv("SCIRET_OPENSEARCH_INSECURE", "1")
    result = sciret("stats", "--store", name)
    assert result.exit_code == 0
    assert "NOT VERIFIED" in result.stderr.upper()
