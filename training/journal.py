"""The training log: a line of JSON for every so many steps and for every evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class Journal:
    """Lines are only added, except when a run goes on from a checkpoint: what came after that is written again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, line: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def read(self) -> Iterator[dict[str, Any]]:
        """A last line that was not written to its end is passed over."""
        if self.path.is_file():
            for line in self.path.read_text(encoding="utf-8").splitlines(keepends=True):
                if line.endswith("\n"):
                    yield json.loads(line)

    def rewind(self, step: int) -> None:
        """Forget what happened after a step."""
        kept = [line for line in self.read() if line["step"] <= step]
        self.path.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
