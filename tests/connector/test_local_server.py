"""A real server on this machine: it starts, can what sciret needs, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from opensearchpy import OpenSearch

from sciret.connector.local_process import command_line
from sciret.connector.local_server import LocalServer, launch_server, run_folder, throwaway_server
from sciret.errors import StoreError


@pytest.fixture(params=["opensearch", "opensearch_2"])
def client(request: pytest.FixtureRequest) -> OpenSearch:
    return OpenSearch(request.getfixturevalue(request.param).url)


def test_it_answers_with_its_version_and_plugins(opensearch: object, opensearch_2: LocalServer) -> None:
    """With what sciret asks for, and on 3.6.0 what it can make use of."""
    client = OpenSearch(opensearch_2.url)
    assert client.info()["version"]["number"] == "2.19.1"
    assert {plugin["component"] for plugin in client.cat.plugins(format="json")} == {"opensearch-knn"}
    if isinstance(opensearch, LocalServer):  # what SCIRET_TEST_OPENSEARCH_URL names is as it is
        client = OpenSearch(opensearch.url)
        assert client.info()["version"]["number"] == "3.6.0"
        plugins = {plugin["component"] for plugin in client.cat.plugins(format="json")}
        assert plugins == {"opensearch-knn", "opensearch-neural-search"}


def test_it_finds_neighbours(client: OpenSearch, unique_name: Callable[[], str]) -> None:
    """k-NN of the Lucene engine, which needs no native library."""
    name = unique_name()
    method = {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"}
    vector = {"type": "knn_vector", "dimension": 2, "method": method}
    body = {"settings": {"index.knn": True}, "mappings": {"properties": {"v": vector}}}
    client.indices.create(index=name, body=body)
    for number, value in enumerate(([1, 0], [0, 1], [0.9, 0.1])):
        client.index(index=name, body={"v": value}, id=str(number), refresh=True)
    answer = client.search(index=name, body={"query": {"knn": {"v": {"vector": [1, 0], "k": 2}}}})
    assert [hit["_id"] for hit in answer["hits"]["hits"]] == ["0", "2"]


def test_its_modules_work(client: OpenSearch, unique_name: Callable[[], str]) -> None:
    """Analyzers, rank_features, joins, scripts, reindexing and ingest pipelines: what a distribution always has."""
    name, other = unique_name(), unique_name()
    properties = {
        "text": {"type": "text", "analyzer": "english"},
        "features": {"type": "rank_features"},
        "relation": {"type": "join", "relations": {"paper": "part"}},
    }
    client.indices.create(index=name, body={"mappings": {"properties": properties}})
    processors = [{"set": {"field": "text", "value": "the running bees"}}, {"script": {"source": "ctx.n = 1 + 1"}}]
    client.ingest.put_pipeline(id=name, body={"processors": processors})
    document = {"features": {"bee": 2.0}, "relation": "paper"}
    client.index(index=name, body=document, id="1", pipeline=name, refresh=True)
    client.ingest.delete_pipeline(id=name)

    client.reindex(body={"source": {"index": name}, "dest": {"index": other}}, refresh=True)
    for index, text in ((name, "bee"), (other, "bees")):
        hit = client.search(index=index, body={"query": {"match": {"text": text}}})["hits"]["hits"][0]
        assert hit["_source"]["n"] == 2
    score = {"script_score": {"query": {"match_all": {}}, "script": {"source": "doc['n'].value * 21"}}}
    assert client.search(index=name, body={"query": score})["hits"]["max_score"] == 42
    feature = {"rank_feature": {"field": "features.bee", "linear": {}}}
    assert client.search(index=name, body={"query": feature})["hits"]["max_score"] == 2


def test_stopping_leaves_nothing() -> None:
    """No process and no folder, also where it was not up yet."""
    with run_folder() as folder:
        server = launch_server("3.6.0", folder)
        pid = server.nodes[0].pid
        assert pid is not None
        assert str(folder) in command_line(pid)
        server.stop()
        assert command_line(pid) == ""
        assert not server.nodes[0].is_running
    assert not folder.exists()


ORPHAN = """
import sys, time
from pathlib import Path
from sciret.connector.local_server import launch_server
print(launch_server("3.6.0", Path(sys.argv[1])).nodes[0].pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot tie a process to its parent")
def test_it_ends_with_a_parent_that_is_killed() -> None:
    """kill -9 gives no chance to clean up; the kernel does it."""
    with run_folder() as folder:
        with subprocess.Popen([sys.executable, "-c", ORPHAN, str(folder)], stdout=subprocess.PIPE, text=True) as parent:
            try:
                server = int(parent.stdout.readline() if parent.stdout else "")
                assert str(folder) in command_line(server)
            finally:
                parent.kill()
        deadline = time.monotonic() + 10
        while command_line(server) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert command_line(server) == ""


def test_a_server_that_cannot_start_says_why() -> None:
    """In its own words, and at once: not after the time that a start may take."""
    with pytest.raises(StoreError, match=r"heap"), throwaway_server("3.6.0", heap="1m"):
        pass


def test_folders_of_killed_runs_are_removed() -> None:
    """By the next run; those of runs that go on stay."""
    with run_folder() as going_on:
        left = going_on.parent / "left"
        left.mkdir()
        (left / "in-use").touch()
        with run_folder() as other:
            assert Path(other).exists()
            assert going_on.exists()
            assert not left.exists()
