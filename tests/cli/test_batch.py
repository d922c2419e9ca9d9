"""`sciret search --queries` and `sciret evaluate`: files in, a TREC run out, figures from it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Sciret = Callable[..., Result]
WriteJsonl = Callable[[Path, Iterable[Mapping[str, Any]]], Path]

BY_PAPER = {"id": "q1", "like": "bee"}


@pytest.fixture
def run(sciret: Sciret, filled: Path, tmp_path: Path, write_jsonl: WriteJsonl) -> Callable[..., Result]:
    """Run these queries into out.trec."""

    def search(queries: Iterable[Mapping[str, Any]], *arguments: str) -> Result:
        source = write_jsonl(tmp_path / "queries.jsonl", queries)
        return sciret("search", "--queries", source, "--run", "out.trec", "--store", filled, *arguments)

    return search


def lines(path: str = "out.trec") -> list[list[str]]:
    return [line.split(" ") for line in Path(path).read_text().splitlines()]


def test_a_trec_run(run: Callable[..., Result]) -> None:
    """Six columns, ranks from 1, scores that never rise, the tag at the end; stdout is empty."""
    result = run([{"id": "q1", "text": "bees and colours"}, {"id": 2, "like": "ice"}], "--tag", "mine")
    assert (result.exit_code, result.stdout) == (0, "")
    found = lines()
    assert {len(line) for line in found} == {6}
    assert list(dict.fromkeys(line[0] for line in found)) == ["q1", "2"]
    assert {(line[1], line[5]) for line in found} == {("Q0", "mine")}
    for query in ("q1", "2"):
        ranks = [int(line[3]) for line in found if line[0] == query]
        scores = [float(line[4]) for line in found if line[0] == query]
        assert ranks == list(range(1, len(ranks) + 1))
        assert scores == sorted(scores, reverse=True)


def test_a_run_is_deeper_than_a_page(
    run: Callable[..., Result], sciret: Sciret, monkeypatch: pytest.MonkeyPatch
) -> None:
    """100 hits a query unless -k is given; SCIRET_K is for people who read the answers."""
    monkeypatch.setenv("SCIRET_K", "2")
    run([BY_PAPER])
    assert len(lines()) == 9  # twelve papers, of which two are not open and one is the query
    run([BY_PAPER], "-k", "3")
    assert len(lines()) == 3


def test_candidates_are_ranked_all_of_them_and_nothing_else(run: Callable[..., Result]) -> None:
    """More than -k, and the query's own paper too where it is asked for; what is not there is counted on stderr."""
    result = run([{**BY_PAPER, "candidates": ["snow", "bee", "moth", "nowhere", "closed"]}], "-k", "1")
    assert result.exit_code == 0
    assert lines()[0][2] == "bee"
    assert {line[2] for line in lines()} == {"bee", "moth", "snow"}
    assert "2 candidates of 1 queries were not ranked" in result.stderr


def test_sentences_of_a_paper(run: Callable[..., Result], sciret: Sciret, filled: Path) -> None:
    """The same answer as --like with --sentences."""
    run([{**BY_PAPER, "sentences": [2, 3]}])
    single = sciret("search", "--like", "bee", "--sentences", "2,3", "-k", "100", "--store", filled, "--json")
    assert [line[2] for line in lines()] == [hit["id"] for hit in json.loads(single.stdout)["hits"]]


def test_a_query_that_cannot_be_answered_does_not_stop_the_others(run: Callable[..., Result]) -> None:
    """It is named with the reason, and the exit code is 1."""
    result = run([{"id": "lost", "like": "nowhere"}, BY_PAPER, {"id": "high", "like": "bee", "sentences": [9]}])
    assert result.exit_code == 1
    assert "query lost: no paper 'nowhere'" in result.stderr
    assert "query high: paper 'bee' has no sentence 9" in result.stderr
    assert {line[0] for line in lines()} == {"q1"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"id": "q1", "text": "bees"}\n{"id": "q2"}\n', "queries.jsonl:2: give either text or like"),
        (b'{"id": "q1", "text": "bees"}\nbees\n', "queries.jsonl:2: not a JSON object"),
        (b'{"id": "q1", "text": "\xff"}\n', "queries.jsonl:1: not UTF-8"),
        (b'{"id": "q 1", "text": "bees"}\n', "'q 1'"),
        (b'{"id": "q1", "text": "bees"}\n{"id": "q1", "text": "ice"}\n', "'q1' comes twice"),
        (b"\n", "no queries"),
        (gzip.compress(b'{"id": "q1", "text": "bees"}\n')[:-9], "gzip stream"),
    ],
)
def test_a_faulty_file_is_found_before_any_work(
    sciret: Sciret, filled: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    """No run is written, and one that was there is kept."""
    (tmp_path / "queries.jsonl").write_bytes(content)
    (tmp_path / "out.trec").write_text("kept")
    result = sciret("search", "--queries", "queries.jsonl", "--run", "out.trec", "--store", filled)
    assert result.exit_code == 2
    assert message in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.trec", "queries.jsonl"]
    assert (tmp_path / "out.trec").read_text() == "kept"


@pytest.mark.parametrize("compressed", [False, True])
def test_queries_from_stdin_and_gzip(sciret: Sciret, filled: Path, compressed: bool) -> None:
    line = json.dumps(BY_PAPER).encode()
    stdin = gzip.compress(line) if compressed else line
    result = sciret("search", "--queries", "-", "--run", "out.trec", "--store", filled, stdin=stdin)
    assert result.exit_code == 0
    assert lines()[0][0] == "q1"


def test_a_tag_that_would_break_the_columns(run: Callable[..., Result], tmp_path: Path) -> None:
    assert run([BY_PAPER], "--tag", "two words").exit_code == 2
    assert not (tmp_path / "out.trec").exists()


def test_a_folder_that_is_not_there(run: Callable[..., Result], sciret: Sciret, filled: Path) -> None:
    run([BY_PAPER])
    result = sciret("search", "--queries", "queries.jsonl", "--run", "nowhere/out.trec", "--store", filled)
    assert result.exit_code == 2
    assert "--run nowhere/out.trec: there is no folder nowhere" in result.stderr


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Two queries, one relevant paper each; `good.trec` finds both first, `bad.trec` one of them second."""
    (tmp_path / "qrels.tsv").write_text("qid\tdocid\trel\nq1\tbee\t1\nq2\tice\t1\n")
    (tmp_path / "good.trec").write_text("q1 Q0 bee 1 2.0 a\nq2 Q0 ice 1 2.0 a\n")
    (tmp_path / "bad.trec").write_text("q1 Q0 ice 1 2.0 b\nq1 Q0 bee 2 1.0 b\nq3 Q0 bee 1 1.0 b\n")
    return tmp_path


def test_evaluate_prints_measures_intervals_and_p(sciret: Sciret, judged: Path) -> None:
    result = sciret("evaluate", "--qrels", "qrels.tsv", "good.trec", "bad.trec")
    assert result.exit_code == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[0][:3] == ["measure", "run", "mean"]
    assert rows[1] == ["nDCG@10", "good.trec", "1.0000", "1.0000", "to", "1.0000"]
    assert [row[0] for row in rows[1::2]] == ["nDCG@10", "MAP", "P@10", "R@100", "MRR"]
    assert rows[-1][:2] == ["bad.trec", "0.2500"]
    assert rows[-1][-2] == "-0.7500"
    assert "1 of 2 judged queries are not in it" in result.stderr
    assert "1 queries without judgments" in result.stderr


def test_evaluate_as_json(sciret: Sciret, judged: Path) -> None:
    found = json.loads(sciret("evaluate", "--qrels", "qrels.tsv", "good.trec", "bad.trec", "--json").stdout)
    assert found["queries"] == 2
    assert [row["run"] for row in found["rows"]] == ["good.trec", "bad.trec"]
    assert found["rows"][1]["figures"]["MRR"]["difference"] == -0.75


def test_evaluate_reads_what_search_writes(run: Callable[..., Result], sciret: Sciret, judged: Path) -> None:
    """From queries to figures in two commands."""
    run([{"id": "q1", "like": "moth"}, {"id": "q2", "like": "snow"}])
    found = json.loads(sciret("evaluate", "--qrels", "qrels.tsv", "out.trec", "--json").stdout)
    assert found["rows"][0]["figures"]["R@100"]["mean"] == 1.0


def test_evaluate_names_the_faulty_line(sciret: Sciret, judged: Path) -> None:
    (judged / "good.trec").write_text("q1 Q0 bee 1 2.0 a\nq1 Q0 bee\n")
    result = sciret("evaluate", "--qrels", "qrels.tsv", "good.trec")
    assert result.exit_code == 1
    assert "good.trec:2" in result.stderr
