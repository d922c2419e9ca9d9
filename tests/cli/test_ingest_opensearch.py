"""`sciret ingest` into OpenSearch: killed, shared by two, through a bad line, with a node lost on the way."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest
from click.testing import Result
from fault_proxy import Fault, cut_off, fault_proxy, refuse, reject_items, reset_after, reset_before
from opensearchpy import OpenSearch

PAPERS = 300
Sciret = Callable[..., Result]
Start = Callable[..., subprocess.Popen[str]]


class Server(Protocol):
    @property
    def url(self) -> str: ...


class Cluster(Protocol):
    @property
    def urls(self) -> list[str]: ...
    def manager(self) -> str: ...
    def kill(self, name: str) -> None: ...


@pytest.fixture
def client(opensearch: Server) -> Iterator[OpenSearch]:
    with OpenSearch(opensearch.url) as connected:
        yield connected


@pytest.fixture
def alias(unique_name: Callable[[], str]) -> str:
    return unique_name()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return _corpus(tmp_path / "corpus.jsonl", PAPERS)


def _corpus(path: Path, count: int) -> Path:
    """Titles only, so that many papers pass in little time."""
    lines = (json.dumps({"id": f"p{n}", "title": f"Measurement {n} of rivers and lakes"}) for n in range(count))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def start() -> Iterator[Start]:
    """Begin an ingest; whatever happens, it does not outlive the test."""
    with ExitStack() as stack:

        def ingest(corpus: Path | str, store: str, *options: str) -> subprocess.Popen[str]:
            command = [sys.executable, "-m", "sciret.cli.main", "ingest", str(corpus), "--store", store, "--json"]
            process = subprocess.Popen(
                [*command, *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield ingest


def _ended(process: subprocess.Popen[str], within: float = 120) -> dict[str, Any]:
    """What the run says of itself, after it has ended by itself and well."""
    said, errors = process.communicate(timeout=within)
    assert process.returncode == 0, errors
    summary: dict[str, Any] = json.loads(said)
    return summary


def _wait_for_papers(client: OpenSearch, alias: str, count: int, process: subprocess.Popen[str]) -> None:
    """Until so many are acknowledged, whether they can be searched for or not."""
    while process.poll() is None:
        found = client.indices.stats(index=f"{alias}*", metric="indexing")["_all"]["primaries"]
        if found and found["indexing"]["index_total"] >= count:
            return
        time.sleep(0.02)
    pytest.fail(f"it ended before it could be disturbed: {process.communicate()}")


def _ids(client: OpenSearch, alias: str) -> list[str]:
    client.indices.refresh(index=alias)
    body = {"size": 10_000, "_source": ["id"], "query": {"match_all": {}}}
    return sorted(hit["_source"]["id"] for hit in client.search(index=alias, body=body)["hits"]["hits"])


def _all_ids(count: int = PAPERS) -> list[str]:
    return sorted(f"p{n}" for n in range(count))


def test_a_killed_ingest_is_continued_by_the_same_command(
    client: OpenSearch, start: Start, opensearch: Server, alias: str, corpus: Path
) -> None:
    """What was acknowledged is not encoded again, and in the end every paper is there once."""
    store = f"{opensearch.url}/{alias}"
    killed = start(corpus, store)
    _wait_for_papers(client, alias, 1, killed)
    killed.kill()
    killed.communicate()
    before = len(_ids(client, alias))
    assert 0 < before < PAPERS
    summary = _ended(start(corpus, store))
    assert summary["unchanged"] >= before
    assert summary["written"] + summary["unchanged"] == PAPERS
    assert _ids(client, alias) == _all_ids()


def test_a_killed_initial_load_is_put_right_by_the_next_ingest(
    client: OpenSearch, start: Start, opensearch: Server, alias: str, corpus: Path
) -> None:
    """Carried on with by the same command, or put right by one without the option."""
    store = f"{opensearch.url}/{alias}"
    usual = ("1s", "1")
    for options in (("--initial-load",), ()):
        killed = start(corpus, store, "--initial-load")
        _wait_for_papers(client, alias, 1, killed)
        killed.kill()
        killed.communicate()
        assert _settings(client, alias) == ("-1", "0")
        assert _ended(start(corpus, store, *options))["read"] == PAPERS
        assert _settings(client, alias) == usual
        assert len(_ids(client, alias)) == PAPERS
        client.indices.delete(index=f"{alias}-*")


def _settings(client: OpenSearch, alias: str) -> tuple[str | None, str]:
    ((_, found),) = client.indices.get_settings(index=alias).items()
    return found["settings"]["index"].get("refresh_interval"), found["settings"]["index"]["number_of_replicas"]


def test_an_initial_load_leaves_the_replicas_of_a_filled_index_alone(
    sciret: Sciret, opensearch: Server, alias: str, tmp_path: Path
) -> None:
    """It would take them away while people search."""
    store = f"{opensearch.url}/{alias}"
    few = _corpus(tmp_path / "few.jsonl", 3)
    assert sciret("ingest", few, "--store", store, "--initial-load").exit_code == 0
    result = sciret("ingest", few, "--store", store, "--initial-load")
    assert result.exit_code == 1
    assert "leave out --initial-load" in result.stderr


def test_two_machines_share_a_source(
    client: OpenSearch, start: Start, opensearch: Server, alias: str, corpus: Path
) -> None:
    """Begun at the same moment, on an alias that is not there yet."""
    runs = [start(corpus, f"{opensearch.url}/{alias}", "--shard", f"{number}/2") for number in (1, 2)]
    written = [_ended(run)["written"] for run in runs]
    assert sum(written) == PAPERS
    assert min(written) > PAPERS / 3
    assert _ids(client, alias) == _all_ids()


def test_a_bad_line_loses_nothing(
    client: OpenSearch, sciret: Sciret, opensearch: Server, alias: str, corpus: Path
) -> None:
    """Every bulk request meets a fault at first, each another one than before."""
    faults = [refuse(429), reset_before, reject_items(2), refuse(503), reset_after, cut_off, refuse(413)]

    def plan(number: int, _: bytes) -> Fault | None:
        return faults[number // 2 % len(faults)] if number % 2 else None

    with fault_proxy(opensearch.url, plan) as proxy:
        result = sciret("ingest", corpus, "--store", f"{proxy.url}/{alias}", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["written"] == PAPERS
    assert proxy.faults >= PAPERS / 64
    assert _ids(client, alias) == _all_ids()


def test_what_the_index_refuses_is_in_the_rejects_file(
    client: OpenSearch, sciret: Sciret, opensearch: Server, alias: str, tmp_path: Path
) -> None:
    """By name and reason, as a record that can be ingested again once it is right; the others go in."""
    store, corpus = f"{opensearch.url}/{alias}", _corpus(tmp_path / "corpus.jsonl", 20)
    assert sciret("ingest", _corpus(tmp_path / "one.jsonl", 1), "--store", store).exit_code == 0
    rule = {"fail": {"if": "ctx.title.contains('number 7') || ctx.title.contains(' 7 ')", "message": "not the seventh"}}
    client.ingest.put_pipeline(id=alias, body={"processors": [rule]})
    client.indices.put_settings(index=alias, body={"index.default_pipeline": alias})
    try:
        result = sciret("ingest", corpus, "--store", store)
        assert result.exit_code == 3, result.stderr
        assert "20 read, 18 written, 1 unchanged, 1 refused" in result.stdout
        assert "refused paper p7: " in result.stdout
        assert "not the seventh" in result.stdout
        assert _ids(client, alias) == sorted({*_all_ids(20)} - {"p7"})
        client.indices.put_settings(index=alias, body={"index.default_pipeline": "_none"})
        assert sciret("ingest", tmp_path / f"{alias}.rejects.jsonl", "--store", store).exit_code == 0
        assert _ids(client, alias) == _all_ids(20)
    finally:
        client.ingest.delete_pipeline(id=alias)


def test_the_manager_of_a_cluster_is_killed_while_two_ingest(
    alias: str, opensearch_cluster: Cluster, start: Start, tmp_path: Path
) -> None:
    """Everything acknowledged is there, both runs end by themselves with the right count, no paper is there twice.

    The last papers are given to the runs after the kill: however fast they are, they are not over before it.
    """
    count, before = 700, 500
    lines = _corpus(tmp_path / "corpus.jsonl", count).read_text(encoding="utf-8").splitlines(keepends=True)
    hosts = ",".join(url.removeprefix("http://") for url in opensearch_cluster.urls)
    shards = (("--format", "jsonl", "--shard", f"{n}/2") for n in (1, 2))
    runs = [start("-", f"http://{hosts}/{alias}", *shard) for shard in shards]
    _give(runs, lines[:before])
    with OpenSearch(opensearch_cluster.urls, timeout=30) as client:
        _wait_for_papers(client, alias, 1, runs[0])
        manager = opensearch_cluster.manager()
        _put_a_copy_on(manager, client, alias)
        opensearch_cluster.kill(manager)
        assert all(run.poll() is None for run in runs), "the ingest was over before the manager was"
        _give(runs, lines[before:])
        summaries = [_ended(run, within=240) for run in runs]
        assert sum(summary["written"] for summary in summaries) == count
        assert opensearch_cluster.manager() != manager
        assert _ids(client, alias) == _all_ids(count)
        assert client.count(index=alias)["count"] == count


def _give(runs: Sequence[subprocess.Popen[str]], lines: Sequence[str]) -> None:
    for run in runs:
        assert run.stdin
        run.stdin.write("".join(lines))
        run.stdin.flush()


def _put_a_copy_on(node: str, client: OpenSearch, alias: str) -> None:
    """Two copies, one of them there, so that the kill takes one away."""
    names = {each["name"] for each in client.cat.nodes(format="json", h="name")}
    elsewhere = sorted(names - {node})[0]
    client.indices.put_settings(index=alias, body={"index.routing.allocation.exclude._name": elsewhere})
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        shards = client.cat.shards(index=alias, format="json", h="node,state")
        if {shard["state"] for shard in shards} == {"STARTED"} and node in [shard["node"] for shard in shards]:
            return
        time.sleep(0.05)
    pytest.fail(f"the shards did not move: {shards}")
