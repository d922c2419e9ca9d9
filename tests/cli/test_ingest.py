"""`sciret ingest`: what goes in, what is refused and where it ends up, what the exit codes say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result

from sciret.cli.ingest import FORMATS
from sciret.cli.ingest import command as ingest_command
from sciret.retrieval.ingest import BATCH
from sciret.sources import reader

Sciret = Callable[..., Result]
WriteJsonl = Callable[[Path, Iterable[Mapping[str, Any]]], Path]

GOOD = {"id": "good", "title": "A record that is taken"}
BAD = {"id": "bad", "title": ""}


def summary(result: Result) -> dict[str, Any]:
    content = json.loads(result.stdout)
    assert isinstance(content, dict)
    return content


def test_everything_goes_in(sciret: Sciret, tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    """Exit code 0, a summary on stdout, no rejects file."""
    source = write_jsonl(tmp_path / "papers.jsonl", [GOOD])
    result = sciret("ingest", source)
    assert result.exit_code == 0
    assert result.stdout.startswith("sciret.db: 1 read, 1 written; ")
    assert not (tmp_path / "sciret.rejects.jsonl").exists()


def test_a_second_run_skips_what_it_knows(sciret: Sciret, store: Path) -> None:
    papers = Path(__file__).parent / "papers.jsonl"
    result = sciret("ingest", papers, "--store", store, "--json")
    found = summary(result)
    assert (found["read"], found["written"], found["unchanged"], found["refused"]) == (12, 0, 12, 0)


def test_refused_records_make_exit_code_3_and_a_file(sciret: Sciret, tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    """The rest goes in; the first three reasons are shown, the file beside the store has them all."""
    bad = [{**BAD, "id": f"bad-{n}"} for n in range(5)]
    result = sciret("ingest", write_jsonl(tmp_path / "in.jsonl", [*bad, GOOD]), "--store", "my.papers.db")
    assert result.exit_code == 3
    assert "6 read, 1 written, 5 refused" in result.stdout
    assert result.stdout.count("title is empty") == 3
    assert "2 more" in result.stdout
    assert "my.papers.rejects.jsonl" in result.stdout
    assert len((tmp_path / "my.papers.rejects.jsonl").read_text().splitlines()) == 5


def test_strict_stops_at_the_first_refusal(sciret: Sciret, tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    """Exit code 1, and the message says where."""
    source = write_jsonl(tmp_path / "in.jsonl", [GOOD, BAD, {"id": "next", "title": "Never read"}])
    result = sciret("ingest", source, "--strict")
    assert result.exit_code == 1
    assert f"sciret: {source}:2: title is" in result.stderr
    assert sciret("show", "next").exit_code == 2


def test_a_corrected_rejects_file_is_a_source(sciret: Sciret, tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    """What is still wrong in it is in it afterwards, and only that: nothing is lost, nothing is kept twice."""
    sciret("ingest", write_jsonl(tmp_path / "in.jsonl", [{**BAD, "id": "one"}, {**BAD, "id": "two"}]))
    rejects = tmp_path / "sciret.rejects.jsonl"
    first, second = rejects.read_text().splitlines()
    rejects.write_text(first.replace('"title": ""', '"title": "Corrected"') + "\n" + second + "\n")
    result = sciret("ingest", "sciret.rejects.jsonl", "--json")
    assert result.exit_code == 3
    assert (summary(result)["written"], summary(result)["refused"]) == (1, 1)
    (line,) = rejects.read_text().splitlines()
    assert json.loads(line)["id"] == "two"
    assert not list(tmp_path.glob("*.part"))


def test_a_stopped_run_leaves_the_rejects_file_it_reads(
    sciret: Sciret, tmp_path: Path, write_jsonl: WriteJsonl
) -> None:
    """It has not been read to its end, so it must not be replaced by what was refused so far."""
    rejects = write_jsonl(tmp_path / "sciret.rejects.jsonl", [BAD, GOOD])
    before = rejects.read_text()
    assert sciret("ingest", rejects, "--strict").exit_code == 1
    assert rejects.read_text() == before


def test_refusals_of_an_earlier_run_are_kept(sciret: Sciret, tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    """Another source adds its own; the same source again adds nothing twice."""
    one = write_jsonl(tmp_path / "one.jsonl", [{**BAD, "id": "one"}])
    two = write_jsonl(tmp_path / "two.jsonl", [{**BAD, "id": "two"}])
    for source in (one, two, one, two):
        assert sciret("ingest", source).exit_code == 3
    lines = (tmp_path / "sciret.rejects.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["one", "two"]


def test_rejects_may_go_to_a_device(sciret: Sciret, tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [BAD])
    assert sciret("ingest", source, "--rejects", os.devnull).exit_code == 3
    assert not (tmp_path / "sciret.rejects.jsonl").exists()


def test_stdin_with_a_format(sciret: Sciret) -> None:
    """A dash is stdin; a CSV's columns can be named."""
    result = sciret("ingest", "-", "--format", "csv", "--column", "title=Titel", stdin="id,Titel\na,Ein Titel\n")
    assert result.exit_code == 0, result.output
    assert "Ein Titel" in sciret("show", "a").stdout


def test_title_from_abstract(sciret: Sciret, tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [{"id": "a", "abstract": "The first sentence. The second."}])
    assert sciret("ingest", source, "--title-from-abstract").exit_code == 0
    assert json.loads(sciret("show", "a", "--json").stdout)["title"] == "The first sentence."


def test_records_can_delete(sciret: Sciret, store: Path, tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    source = write_jsonl(tmp_path / "gone.jsonl", [{"id": "bee", "deleted": True}])
    result = sciret("ingest", source, "--store", store)
    assert "1 deleted" in result.stdout
    assert sciret("show", "bee", "--store", store).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.jsonl"], "missing.jsonl: no such file"),
        (["-", "-"], "only once"),
        (["-", "--column", "title"], "FIELD=COLUMN"),
        (["-", "--store", "nowhere/papers.db"], "no folder nowhere"),
        (["-", "--device", "tpu"], "'tpu' is not one of"),
        (["-", "--initial-load"], "--initial-load is for stores on OpenSearch"),
        (["-", "--model", "nowhere"], "no model bundle 'nowhere'"),
        ([], "Missing argument"),
    ],
)
def test_mistakes_are_found_before_any_work(sciret: Sciret, tmp_path: Path, arguments: list[str], message: str) -> None:
    """Nothing is made, and the message names what is wrong."""
    result = sciret("ingest", *arguments, stdin="")
    assert result.exit_code in (1, 2)
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_formats_are_those_of_the_readers() -> None:
    """They are listed in the command so that its help need not import the readers."""
    option = next(p for p in ingest_command.params if p.name == "format_")
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == FORMATS == tuple(reader.FORMATS)


def test_interruption_ends_cleanly_and_a_second_run_continues(
    tmp_path: Path, sciret: Sciret, interruptible: Sequence[str]
) -> None:
    """Ctrl-C: exit code 130, and the message says how to go on; what was refused so far is kept."""
    lines = "".join(json.dumps({**BAD, "id": str(n)}) + "\n" for n in range(BATCH))
    with subprocess.Popen(
        [*interruptible, "ingest", "-", "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(lines)
        process.stdin.flush()
        wait_for(tmp_path / "sciret.rejects.jsonl.part")  # now the ingest is under way, and waits for more
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 130  # while stdin is still open
        stdout, stderr = process.stdout.read(), process.stderr.read()
    assert "run the same command again to continue" in stderr
    assert json.loads(stdout)["interrupted"] is True
    assert len((tmp_path / "sciret.rejects.jsonl").read_text().splitlines()) == BATCH
    assert sciret("ingest", "-", stdin=json.dumps(GOOD)).exit_code == 0


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 120  # a busy machine may take long to start a process
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.05)


def test_shards_share_a_source(sciret: Sciret, tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    """Each takes its part, refusals too, and together they have taken everything once."""
    records = [{"id": f"p{n}", "title": f"Title {n}"} for n in range(20)]
    source = write_jsonl(tmp_path / "in.jsonl", [*records, BAD, {"title": "No id"}])
    runs = [summary(sciret("ingest", source, "--shard", f"{n}/3", "--json", "--threads", "1")) for n in (1, 2, 3)]
    assert [run["read"] for run in runs] == [run["written"] + run["refused"] for run in runs]
    assert sum(run["written"] for run in runs) == 20
    assert all(run["written"] for run in runs)
    assert sum(run["refused"] for run in runs) == 2
    assert {run["rejects"] for run in runs} <= {None, *(f"sciret.{n}-of-3.rejects.jsonl" for n in (1, 2, 3))}
    whole = summary(sciret("ingest", source, "--json"))
    assert (whole["written"], whole["unchanged"], whole["refused"]) == (0, 20, 2)


def test_a_shard_that_is_none_is_refused(sciret: Sciret, tmp_path: Path, write_jsonl: WriteJsonl) -> None:
    """Before anything is read."""
    result = sciret("ingest", write_jsonl(tmp_path / "in.jsonl", [GOOD]), "--shard", "4/3")
    assert result.exit_code == 2
    assert "--shard 4/3: give I/N" in result.stderr
