"""Where refusals go unless somebody says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from sciret.cli.run_rejects import default_rejects
from sciret.sources.shard import Shard


@pytest.mark.parametrize(
    ("store", "rejects"),
    [
        ("papers.db", "papers.rejects.jsonl"),
        ("folder/papers.db", "folder/papers.rejects.jsonl"),
        ("https://host:9200/papers", "papers.rejects.jsonl"),
        ("http://host/search/papers/", "papers.rejects.jsonl"),
        ("https://host:9200/papers.v2", "papers.v2.rejects.jsonl"),
    ],
)
def test_beside_a_file_or_in_the_working_directory(store: str, rejects: str) -> None:
    """A cluster has no place beside it."""
    assert default_rejects(store, Shard(1, 1)) == Path(rejects)


def test_each_shard_has_its_own() -> None:
    """Two runs that end at the same moment would be in each other's way."""
    assert default_rejects("papers.db", Shard(2, 8)) == Path("papers.2-of-8.rejects.jsonl")
