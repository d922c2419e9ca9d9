"""Files of the TREC kind: a record a line, columns apart by white space, and every fault named by file and line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sciret.errors import RecordError
from sciret.sources.stream import open_lines


class Columns(NamedTuple):
    where: str
    """File and line."""
    cells: list[str]

    def expect(self, names: str) -> list[str]:
        """The cells, as many as there are names."""
        if len(self.cells) != len(names.split()):
            reason = f"{len(self.cells)} columns; expected {names}, with no white space inside an id"
            raise RecordError(self.where, reason, " ".join(self.cells))
        return self.cells

    def refuse(self, reason: str) -> RecordError:
        return RecordError(self.where, reason, " ".join(self.cells))


def read_columns(path: str) -> Iterator[Columns]:
    """Of a file, gzip or not, or of stdin for `-`. Lines with nothing on them are passed over."""
    with open_lines(path) as lines:
        for line in lines:
            where = f"{path}:{line.number}"
            if not line.whole:
                raise RecordError(where, "the line is far too long for a run or judgments; is this the right file?")
            try:
                cells = line.data.decode("utf-8").split()
            except UnicodeDecodeError as error:
                raise RecordError(where, f"not UTF-8 ({error}); convert the file") from error
            if cells:
                yield Columns(where, cells)
        if lines.broken:
            raise RecordError(path, lines.broken)
