"""How the tests of this room read: bytes or text in, papers and refusals out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.sources.reader import open_source
from sciret.sources.rejects import RejectsFile

Found = tuple[list[Paper], list[RecordError]]
Read = Callable[..., Found]


@pytest.fixture(scope="session")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """`read(content, "papers.csv", **options)`; the whole session shares a folder, so that hypothesis may use it."""
    folder = tmp_path_factory.mktemp("sources")

    def reading(content: str | bytes, name: str = "papers.jsonl", **options: Any) -> Found:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        found = list(open_source(str(path), **options))
        for error in (item for item in found if isinstance(item, RecordError)):
            error.where = error.where.removeprefix(f"{folder}/")
        papers = [item for item in found if isinstance(item, Paper)]
        return papers, [item for item in found if isinstance(item, RecordError)]

    return reading


@pytest.fixture(scope="session")
def rejects(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[RecordError]], list[dict[str, Any]]]:
    """What the rejects file holds after these refusals, line by line."""
    folder: Path = tmp_path_factory.mktemp("rejects")

    def writing(errors: list[RecordError]) -> list[dict[str, Any]]:
        path = folder / "rejects.jsonl"
        path.unlink(missing_ok=True)
        with RejectsFile(path) as file:
            for error in errors:
                file.write(error)
        # Not splitlines(): texts may hold other line separators.
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]] if errors else []

    return writing
