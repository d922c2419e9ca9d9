"""A real server on this machine: it starts, can what sciret needs, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from opensearchpy import OpenSearch

from sciret.connector.local_server import LocalServer


@pytest.fixture(scope="module")
def client(opensearch: LocalServer) -> OpenSearch:
    return OpenSearch(opensearch.url)


def test_it_answers_with_its_version_and_plugins(client: OpenSearch) -> None:
    """3.6.0, with what sciret asks for and what it can make use of."""
    assert client.info()["version"]["number"] == "3.6.0"
    plugins = {plugin["component"] for plugin in client.cat.plugins(format="json")}
    assert plugins == {"opensearch-knn", "opensearch-neural-search"}


def test_it_finds_neighbours(client: OpenSearch, unique_name: Callable[[], str]) -> None:
    """k-NN of the Lucene engine, which needs no native library."""
    name = unique_name()
    method = {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"}
    vector = {"type": "knn_vector", "dimension": 2, "method": method}
    client.indices.create(index=name, body={"settings": {"index.knn": True}, "mappings": {"properties": {"v": vector}}})
    for number, value in enumerate(([1, 0], [0, 1], [0.9, 0.1])):
        client.index(index=name, body={"v": value}, id=str(number), refresh=True)
    answer = client.search(index=name, body={"query": {"knn": {"v": {"vector": [1, 0], "k": 2}}}})
    assert [hit["_id"] for hit in answer["hits"]["hits"]] == ["0", "2"]
