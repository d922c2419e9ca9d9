"""Files of this room, written as a test needs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A file of this name with this content."""

    def write_file(name: str, content: str) -> Path:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8", newline="")
        return path

    return write_file
