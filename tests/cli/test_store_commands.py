"""`sciret show`, `delete` and `stats`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sciret.paper import Paper
from sciret.sources.reader import open_source

Sciret = Callable[..., Result]


def test_show_numbers_the_sentences(sciret: Sciret, filled: Path) -> None:
    """They are what --sentences takes; the record's fields and its content hash stand above them."""
    shown = sciret("show", "bee", "--store", filled)
    assert shown.exit_code == 0
    assert "title         Bees learn the colours of rewarding flowers\n" in shown.stdout
    assert "authors       Lind, Ada; Okafor, Ben\n" in shown.stdout
    numbered = [line.split(maxsplit=1)[0] for line in shown.stdout.partition("\n\n")[2].splitlines()]
    assert numbered == ["1", "2", "3"]


def test_show_as_json_has_every_field(sciret: Sciret, filled: Path) -> None:
    """Empty fields too; the hash is that of the record as it was read."""
    shown = json.loads(sciret("show", "bee", "--store", filled, "--json").stdout)
    first = next(open_source(str(Path(__file__).parent / "papers.jsonl")))
    assert isinstance(first, Paper)
    assert (shown["id"], shown["content_hash"]) == (first.id, first.content_hash)
    assert shown["venue"] == "Field Notes in Ecology"
    assert shown["doi"] is None
    assert [sentence["number"] for sentence in shown["sentences"]] == [1, 2, 3]
    assert shown["sentences"][0]["text"] == "Pollinators must find flowers that pay."


def test_show_gives_each_sentence_its_role(sciret: Sciret, with_roles: Path) -> None:
    """The roles are what --aspect chooses by."""
    shown = json.loads(sciret("show", "bee", "--store", with_roles, "--json").stdout)
    assert [sentence["role"] for sentence in shown["sentences"]] == ["background", "method", "result"]
    assert "  2 [method] We trained bumblebees" in sciret("show", "bee", "--store", with_roles).stdout


@pytest.mark.parametrize(("paper", "reason"), [("closed", "restricted"), ("later", "embargoed until 2100-01-01")])
def test_show_keeps_papers_that_are_not_open(sciret: Sciret, filled: Path, paper: str, reason: str) -> None:
    """Unless they are asked for; the message says how."""
    refused = sciret("show", paper, "--store", filled)
    assert refused.exit_code == 2
    assert f"not open ({reason}): give --access all" in refused.stderr
    assert sciret("show", paper, "--store", filled, "--access", "all").exit_code == 0


@pytest.mark.parametrize("paper", ["nowhere", "\udcff", ""])
def test_show_of_what_is_not_there(sciret: Sciret, filled: Path, paper: str) -> None:
    """Also for names that no paper can have, such as bytes that are not UTF-8."""
    result = sciret("show", paper, "--store", filled)
    assert result.exit_code == 2
    assert "no paper" in result.stderr


def test_delete(sciret: Sciret, store: Path) -> None:
    result = sciret("delete", "bee", "moth", "bee", "--store", store)
    assert (result.exit_code, result.stdout) == (0, "2 deleted\n")
    assert sciret("show", "bee", "--store", store).exit_code == 2
    assert sciret("show", "ice", "--store", store).exit_code == 0


def test_delete_names_what_was_not_there(sciret: Sciret, store: Path) -> None:
    """The others are deleted all the same, and the exit code tells."""
    result = sciret("delete", "bee", "nowhere", "--store", store)
    assert (result.exit_code, result.stdout) == (1, "1 deleted, 1 not there\n")
    assert "'nowhere'" in result.stderr


def test_delete_reads_ids_from_stdin(sciret: Sciret, store: Path) -> None:
    result = sciret("delete", "-", "ice", "--store", store, stdin=b"bee\n\n  moth  \n")
    assert (result.exit_code, result.stdout) == (0, "3 deleted\n")


def test_stats(sciret: Sciret, filled: Path) -> None:
    found = json.loads(sciret("stats", "--store", filled, "--json").stdout)
    assert (found["store"], found["papers"]) == (str(filled), 12)
    assert "papers " in sciret("stats", "--store", filled).stdout


@pytest.mark.parametrize("arguments", [("show", "x"), ("delete", "x"), ("stats",)])
def test_commands_that_need_a_store_make_none(sciret: Sciret, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = sciret(*arguments)
    assert result.exit_code == 1
    assert "no store at sciret.db" in result.stderr
    assert list(tmp_path.iterdir()) == []
