"""Three nodes: one can be killed, and comes back."""

from __future__ import annotations

from collections.abc import Callable

from opensearchpy import OpenSearch

from sciret.connector.local_process import command_line
from sciret.connector.local_server import LocalServer


def test_a_killed_manager_is_replaced_and_nothing_is_lost(
    opensearch_cluster: LocalServer, unique_name: Callable[[], str]
) -> None:
    """With a copy of each shard on another node; `revive` brings the third node back on the data that it had."""
    cluster = opensearch_cluster
    names = {node.name for node in cluster.nodes}
    assert {node["name"] for node in cluster.get("/_cat/nodes?format=json")} == names
    assert len(set(cluster.urls)) == 3

    manager = cluster.manager()
    others = [node.url for node in cluster.nodes if node.name != manager]
    client = OpenSearch(others, max_retries=5, retry_on_timeout=True, timeout=60)
    name = unique_name()
    client.indices.create(index=name, body={"settings": {"number_of_shards": 3, "number_of_replicas": 1}})
    client.cluster.health(index=name, wait_for_status="green")
    for number in range(20):
        client.index(index=name, body={"n": number}, id=str(number))

    pid = cluster.node(manager).pid
    cluster.kill(manager)
    assert pid is not None
    assert command_line(pid) == ""
    client.cluster.health(wait_for_nodes="2", timeout=60)
    assert cluster.manager() in names - {manager}
    client.indices.refresh(index=name)
    assert client.count(index=name)["count"] == 20

    cluster.revive()
    assert client.cluster.health(wait_for_status="green", timeout=60)["number_of_nodes"] == 3
