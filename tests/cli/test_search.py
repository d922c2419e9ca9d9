"""`sciret search` for one question: usage, answers for people and for programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from sciret.cli import search as search_command
from sciret.encoders.query import ASPECTS
from sciret.retrieval.search import RERANK
from sciret.store import SPARSE

Sciret = Callable[..., Result]


@pytest.fixture
def ask(sciret: Sciret, filled: Path) -> Callable[..., dict[str, Any]]:
    """The JSON answer of a search in the filled store."""

    def run(*arguments: str) -> dict[str, Any]:
        result = sciret("search", *arguments, "--store", filled, "--json")
        assert result.exit_code == 0, result.stderr
        answer = json.loads(result.stdout)
        assert isinstance(answer, dict)
        return answer

    return run


def ids(answer: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in answer["hits"]]


def test_choices_are_those_of_the_library() -> None:
    """They are written out in the command so that its help need not import numpy."""
    assert {*SPARSE, "auto", "none"} == set(search_command.SPARSE)
    assert search_command.RERANK == RERANK
    assert tuple(ASPECTS) == search_command.ASPECTS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "exactly one of TEXT, --like PAPER_ID and --queries FILE"),
        (["text", "--like", "bee"], "exactly one of"),
        (["--like", "bee", "--queries", "q.jsonl"], "exactly one of"),
        (["text", "--sentences", "1"], "need --like"),
        (["text", "--aspect", "method"], "need --like"),
        (["--like", "bee", "--sentences", "1", "--aspect", "method"], "give one of them"),
        (["--like", "bee", "--sentences", "0"], "from 1"),
        (["--like", "bee", "--sentences", "1;2"], "such as 2,3"),
        (["text", "--run", "out.trec"], "belong to --queries"),
        (["text", "--tag", "mine"], "belong to --queries"),
        (["--queries", "q.jsonl"], "needs --run"),
        (["--queries", "q.jsonl", "--run", "out.trec", "--json"], "for one question"),
        (["--queries", "q.jsonl", "--run", "out.trec", "--explain"], "for one question"),
        (["text", "--lambda", "1.5"], "--lambda"),
        (["text", "-k", "0"], "-k"),
        (["text", "--sparse", "dense"], "--sparse"),
        (["text", "--where", "colour=red"], "no field 'colour'"),
        (["text", "--where", "year"], "expected FIELD=VALUE"),
        ([" "], "empty"),
        (["text", "--store", "http://me:hunter2@localhost:9200/papers"], "SCIRET_OPENSEARCH_PASSWORD"),
        (["text", "--store", "http://localhost:9200"], "no alias"),
        (["--queries", "q.jsonl", "--run", "out.trec", "--from", "10"], "--from is for one question"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_says_what_is_wrong(sciret: Sciret, arguments: list[str], message: str) -> None:
    result = sciret("search", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_a_store_that_is_not_there(sciret: Sciret, tmp_path: Path) -> None:
    """Searching makes no store, and the message says how to make one."""
    result = sciret("search", "text")
    assert result.exit_code == 1
    assert "sciret ingest" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_answer_for_people(sciret: Sciret, filled: Path) -> None:
    """Rank, score, title, first author, year, id, matched words and the best sentence; at most 80 columns in a pipe."""
    result = sciret("search", "do bees remember colours", "--store", filled, "-k", "3")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["#", "score", "paper"]
    assert lines[1].startswith("1  0.")
    assert lines[1].endswith("Bees learn the colours of rewarding flowers")
    assert lines[2].strip() == "Lind, Ada et al. · 2018 · bee"
    assert lines[3].strip().startswith("words: ")
    assert "Bees remembered the rewarding colour for three days." in result.stdout
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in result.stdout


def test_answer_as_json_has_stable_keys(ask: Callable[..., dict[str, Any]]) -> None:
    """The same keys with and without --explain, by text and by paper."""
    plain, explained = ask("bees"), ask("--like", "bee", "--explain")
    assert list(plain) == list(explained) == ["query", "store", "settings", "hits"]
    assert [*plain["query"]] == [*explained["query"]] == ["text", "like", "sentences", "aspect"]
    assert [*plain["settings"]] == [*explained["settings"]]
    assert [*plain["hits"][0]] == [*explained["hits"][0]]
    assert {"rank", "score", "id", "title", "year", "authors", "parts", "why"} <= set(plain["hits"][0])
    assert (
        [*plain["hits"][0]["why"]] == [*explained["hits"][0]["why"]] == ["terms", "keyphrases", "best_sentence", "plan"]
    )
    assert plain["hits"][0]["why"]["plan"] is None
    assert plain["hits"][0]["why"]["best_sentence"]["paper_text"]
    assert explained["hits"][0]["why"]["plan"]


def test_parts_add_up_to_the_score(ask: Callable[..., dict[str, Any]]) -> None:
    """Whoever has the JSON can recompute every score."""
    answer = ask("melting ice", "--lambda", "0.3", "--rerank-weight", "0.4")
    for hit in answer["hits"]:
        parts = hit["parts"]
        assert parts["sparse"] == pytest.approx((parts["bm25"] + parts["casper"]) / 2, abs=1e-5)
        assert parts["fused"] == pytest.approx(0.3 * parts["dense"] + 0.7 * parts["sparse"], abs=1e-5)
        assert hit["score"] == pytest.approx(0.6 * parts["fused"] + 0.4 * parts["rerank"], abs=1e-5)


def test_explanation_for_people_shows_the_sums(sciret: Sciret, filled: Path) -> None:
    """λ, weight and every part, words with shares, and the transport plan with numbers and texts."""
    arguments = (
        "search",
        "do bees remember colours",
        "--store",
        filled,
        "-k",
        "1",
        "--lambda",
        "0.7",
        "--rerank-weight",
        "0.2",
    )
    shown = sciret(*arguments, "--explain").stdout
    (hit,) = json.loads(sciret(*arguments, "--json").stdout)["hits"]
    parts = hit["parts"]
    assert (
        f"fused {parts['fused']:.4f} = 0.7 × dense {parts['dense']:.4f} + 0.3 × sparse {parts['sparse']:.4f}" in shown
    )
    assert (
        f"sparse {parts['sparse']:.4f} = 0.5 × bm25 {parts['bm25']:.4f} + 0.5 × casper {parts['casper']:.4f}" in shown
    )
    assert f"+ 0.2 × transport {parts['rerank']:.4f}" in shown
    assert "words, each with its share of sparse: " in shown
    assert "concepts, each with its share of sparse: " in shown
    assert "query sentence 1: do bees remember colours" in shown
    assert f"{hit['why']['best_sentence']['mass']:.4f}" in shown


@pytest.mark.parametrize("rerank", ["transport", "single", "attention", "none"])
@pytest.mark.parametrize("sparse", ["both", "casper", "bm25", "tfidf", "none"])
def test_every_way_to_search(ask: Callable[..., dict[str, Any]], sparse: str, rerank: str) -> None:
    """Every combination answers, and says in its settings what it did."""
    answer = ask("--like", "bee", "--sparse", sparse, "--rerank", rerank, "-k", "3")
    assert ids(answer)[0] == "moth"
    assert (answer["settings"]["sparse"], answer["settings"]["rerank"]) == (sparse, rerank)
    assert (answer["hits"][0]["parts"]["rerank"] is None) == (rerank == "none")


def test_by_default_words_are_compared_in_every_way_that_the_store_has(ask: Callable[..., dict[str, Any]]) -> None:
    """With β, since concepts take part; each half of the sparse score is what it is alone."""
    found = {sparse: ask("bees", "--sparse", sparse, "-k", "20") for sparse in ("auto", "both", "bm25", "casper")}
    assert found["auto"] == found["both"] == ask("bees", "-k", "20")
    assert [each["settings"]["sparse"] for each in found.values()] == ["both", "both", "bm25", "casper"]
    assert found["both"]["settings"]["beta"] == found["casper"]["settings"]["beta"] is not None
    assert found["bm25"]["settings"]["beta"] is None
    alone = {name: {hit["id"]: hit["parts"]["sparse"] for hit in found[name]["hits"]} for name in ("bm25", "casper")}
    for hit in found["both"]["hits"]:
        for name in ("bm25", "casper"):
            assert hit["parts"][name] == pytest.approx(alone[name][hit["id"]], abs=1e-6)
    assert {found["bm25"]["hits"][0]["parts"][name] for name in ("bm25", "casper")} == {None}


def test_by_a_paper_it_is_not_its_own_hit(ask: Callable[..., dict[str, Any]]) -> None:
    answer = ask("--like", "bee")
    assert "bee" not in ids(answer)
    assert answer["query"]["like"] == "bee"


def test_by_some_sentences_of_a_paper(ask: Callable[..., dict[str, Any]]) -> None:
    """Only those are compared, and nothing but them counts."""
    answer = ask("--like", "bee", "--sentences", "2,3", "--explain")
    assert answer["settings"]["rerank_weight"] == 0.8
    texts = {cell["query_text"] for hit in answer["hits"] for cell in hit["why"]["plan"]}
    assert texts <= {
        "We trained bumblebees on artificial flowers of two colours.",
        "Bees remembered the rewarding colour for three days.",
    }


def test_by_an_aspect_of_a_paper(sciret: Sciret, with_roles: Path) -> None:
    """The same answer as by the sentences that have this role."""
    by_role, by_number = (
        json.loads(sciret("search", "--like", "bee", *chosen, "--store", with_roles, "--json").stdout)
        for chosen in (("--aspect", "method"), ("--sentences", "2"))
    )
    assert by_role["hits"] == by_number["hits"]
    assert by_role["query"]["aspect"] == "method"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--like", "nowhere"), "no paper 'nowhere'"),
        (("--like", "bee", "--sentences", "9"), "no sentence 9"),
        (("--like", "closed"), "--access all"),
    ],
)
def test_by_a_paper_that_cannot_be_the_query(
    sciret: Sciret, filled: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = sciret("search", *arguments, "--store", filled)
    assert result.exit_code == 2
    assert message in result.stderr


def test_papers_that_are_not_open_need_to_be_asked_for(ask: Callable[..., dict[str, Any]]) -> None:
    """Restricted papers and running embargoes are left out, unless --access all."""
    assert not {"closed", "later"} & set(ids(ask("bees and flowers in a private garden", "-k", "50")))
    assert {"closed", "later"} <= set(ids(ask("bees and flowers in a private garden", "-k", "50", "--access", "all")))


def test_where(ask: Callable[..., dict[str, Any]]) -> None:
    """Conditions narrow the answer, all of them at once."""
    assert set(ids(ask("flowers", "--where", "authors=Lind, Ada", "-k", "50"))) == {"bee", "moth"}
    answer = ask("flowers", "--where", "authors=Lind, Ada", "--where", "year>=2020")
    assert ids(answer) == ["moth"]
    assert answer["settings"]["where"] == ["authors=Lind, Ada", "year>=2020"]


def test_nothing_found_says_what_to_try(sciret: Sciret, filled: Path) -> None:
    """No hits is an answer, not an error."""
    result = sciret("search", "flowers", "--where", "year>=2050", "--store", filled)
    assert result.exit_code == 0
    assert result.stdout.startswith("Nothing found")
    assert "--where" in result.stdout
    assert json.loads(sciret("search", "x", "--where", "year>=2050", "--store", filled, "--json").stdout)["hits"] == []


def test_text_that_starts_with_a_dash(sciret: Sciret, filled: Path) -> None:
    result = sciret("search", "--store", filled, "--json", "--", "-omics of bees")
    assert json.loads(result.stdout)["query"]["text"] == "-omics of bees"


def test_markup_in_titles_is_text(sciret: Sciret, filled: Path) -> None:
    """A title must not colour the table."""
    assert "[red]markup[/red]" in sciret("search", "markup", "--store", filled).stdout


def test_settings_come_in_order(
    ask: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Options win over the environment, that over sciret.toml, that over the defaults."""
    (tmp_path / "sciret.toml").write_text('k = 2\nlambda = 0.1\nsparse = "tfidf"\n')
    monkeypatch.setenv("SCIRET_LAMBDA", "0.2")
    monkeypatch.setenv("SCIRET_SPARSE", "none")
    settings = ask("bees", "--sparse", "bm25")["settings"]
    assert (settings["k"], settings["lambda"], settings["sparse"], settings["candidates"]) == (2, 0.2, "bm25", 100)


@pytest.mark.parametrize(("name", "value"), [("SCIRET_RERANK", "magic"), ("SCIRET_K", "many"), ("SCIRET_LAMBDA", "7")])
def test_settings_that_make_no_sense(
    sciret: Sciret, filled: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """Where no option was given, the environment is checked as strictly as one."""
    monkeypatch.setenv(name, value)
    result = sciret("search", "bees", "--store", filled)
    assert result.exit_code == 2
    assert result.stderr.startswith("sciret: ")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode(filled: Path, encoding: str) -> None:
    """Letters it cannot show do not stop a search; JSON is escaped, so that no program reads a question mark."""
    done = subprocess.run(
        [sys.executable, "-c", ASK_TWICE, "Größe λ", str(filled)],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=True,
    )
    shown, _, data = done.stdout.partition(b"{")
    assert b"score" in shown
    assert json.loads(b"{" + data)["query"]["text"] == "Größe λ"


ASK_TWICE = """
import sys
from sciret.cli.main import main
text, store = sys.argv[1:]
for form in ("--explain", "--json"):
    sys.argv = ["sciret", "search", text, "--store", store, form]
    try:
        main()
    except SystemExit as end:
        assert end.code == 0
"""
