"""Events of commands on a real cluster: who leaves one, and that nobody suffers from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from opensearchpy import OpenSearch

from sciret.mappings.events import INGEST_EVENTS, UBI_QUERIES

Sciret = Callable[..., Result]
PAPERS = [
    {"id": "ice", "title": "Sea ice is thin", "abstract": "We measured it. It is thinner than before.", "year": 2020},
    {"id": "bee", "title": "Bees see ultraviolet light", "abstract": "We trained bees. They chose the lamp."},
    {"id": "broken"},
]


@pytest.fixture
def client(opensearch: Any) -> Iterator[OpenSearch]:
    with OpenSearch(opensearch.url) as opened:
        yield opened


@pytest.fixture
def alias(unique_name: Callable[[], str], client: OpenSearch) -> Iterator[str]:
    name = unique_name()
    yield name
    for index in (INGEST_EVENTS, UBI_QUERIES):
        query = {"query": {"term": {"sciret.store": name}}}
        client.delete_by_query(index=index, body=query, ignore_unavailable=True, refresh=True, conflicts="proceed")


@pytest.fixture
def ingested(sciret: Sciret, opensearch: Any, alias: str, tmp_path: Path) -> str:
    """Address of a store with two papers; a third record was refused."""
    source = tmp_path / "papers.jsonl"
    source.write_text("".join(json.dumps(paper) + "\n" for paper in PAPERS), encoding="utf-8")
    store = f"{opensearch.url}/{alias}"
    result = sciret("ingest", source, "--store", store, "--threads", "1")
    assert result.exit_code == 3, result.stderr
    return store


def found(client: OpenSearch, index: str, alias: str) -> list[dict[str, Any]]:
    if not client.indices.exists(index=index):
        return []
    client.indices.refresh(index=index)
    body = {"query": {"term": {"sciret.store": alias}}, "sort": [{"_doc": "asc"}]}
    return [hit["_source"] for hit in client.search(index=index, body=body)["hits"]["hits"]]


def test_an_ingest_leaves_an_event(ingested: str, client: OpenSearch, alias: str) -> None:
    """With what its own report says."""
    (event,) = found(client, INGEST_EVENTS, alias)
    figures = {name: event["sciret"][name] for name in ("read", "written", "unchanged", "refused")}
    assert figures == {"read": 3, "written": 2, "unchanged": 0, "refused": 1}
    assert event["event"]["outcome"] == "success"
    assert len(event["sciret"]["model"]) == 64


def test_an_ingest_leaves_none_when_told_so(
    ingested: str, sciret: Sciret, client: OpenSearch, alias: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the option or by the setting."""
    source = tmp_path / "papers.jsonl"
    assert sciret("ingest", source, "--store", ingested, "--no-events").exit_code == 3
    monkeypatch.setenv("SCIRET_INGEST_EVENTS", "0")
    assert sciret("ingest", source, "--store", ingested).exit_code == 3
    assert len(found(client, INGEST_EVENTS, alias)) == 1


def test_an_ingest_that_fails_says_why(
    sciret: Sciret, opensearch: Any, client: OpenSearch, alias: str, tmp_path: Path
) -> None:
    """Here at its first bad record, because it was to be strict."""
    source = tmp_path / "bad.jsonl"
    source.write_text('{"id": "broken"}\n', encoding="utf-8")
    assert sciret("ingest", source, "--store", f"{opensearch.url}/{alias}", "--strict").exit_code == 1
    (event,) = found(client, INGEST_EVENTS, alias)
    assert event["event"]["outcome"] == "failure"
    assert event["error"]["type"] == "RecordError"


def test_a_search_is_not_logged_unless_asked_for(ingested: str, sciret: Sciret, client: OpenSearch, alias: str) -> None:
    assert sciret("search", "thin ice", "--store", ingested).exit_code == 0
    assert found(client, UBI_QUERIES, alias) == []


def test_a_search_is_logged_when_asked_for(
    ingested: str, sciret: Sciret, client: OpenSearch, alias: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the option or by the setting; the option can also say no. What is printed stays the same."""
    plain = sciret("search", "thin ice", "--store", ingested)
    logged = sciret("search", "thin ice", "--store", ingested, "--log-query")
    assert (logged.stdout, logged.stderr) == (plain.stdout, plain.stderr)
    monkeypatch.setenv("SCIRET_QUERY_LOG", "1")
    sciret("search", "--like", "ice", "--sentences", "1", "--store", ingested, "--where", "year>=2030")
    sciret("search", "not this one", "--store", ingested, "--no-log-query")
    first, second = found(client, UBI_QUERIES, alias)
    assert first["user_query"] == "thin ice"
    assert first["query_response_hit_ids"] == ["ice", "bee"]
    assert first["sciret"]["kind"] == "text"
    assert first["sciret"]["latency_ms"] > 0
    assert first["query_attributes"]["rerank"] == "transport"
    assert second["user_query"] == "like:ice"
    assert second["sciret"]["hits"] == 0
    assert second["query_attributes"]["where"] == "year>=2030"


def test_searches_of_a_file_are_not_logged(
    ingested: str, sciret: Sciret, client: OpenSearch, alias: str, tmp_path: Path
) -> None:
    """They are evaluations, and would drown what people ask."""
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": "1", "text": "ice"}\n', encoding="utf-8")
    run = tmp_path / "run.trec"
    assert sciret("search", "--queries", queries, "--run", run, "--store", ingested, "--log-query").exit_code == 0
    assert found(client, UBI_QUERIES, alias) == []


def test_a_log_that_cannot_be_written_does_not_fail_the_search(
    ingested: str, sciret: Sciret, client: OpenSearch, alias: str
) -> None:
    """The answer comes as ever, with a warning on stderr."""
    sciret("search", "ice", "--store", ingested, "--log-query")
    client.indices.put_settings(index=UBI_QUERIES, body={"index.blocks.write": True})
    try:
        result = sciret("search", "thin ice", "--store", ingested, "--log-query")
    finally:
        client.indices.put_settings(index=UBI_QUERIES, body={"index.blocks.write": None})
    assert result.exit_code == 0
    assert "Sea ice is thin" in result.stdout
    assert f"no event was written to {UBI_QUERIES}" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_embedded_store_keeps_no_log_and_says_so(sciret: Sciret, filled: Path) -> None:
    """A switch that does nothing would be believed."""
    result = sciret("search", "bees", "--store", filled, "--log-query")
    assert result.exit_code == 0
    assert "was not logged" in result.stderr
