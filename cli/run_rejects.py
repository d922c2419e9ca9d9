"""RunRejects: where one run's refusals end up, so that neither a source nor earlier refusals are lost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sciret.connector.address import is_address
from sciret.errors import RecordError, SettingsError
from sciret.sources.rejects import RejectsFile
from sciret.sources.shard import Shard

SHOWN = 3
"""Reasons that a summary quotes; the file has all of them."""


class RunRejects:
    """Refusals are gathered in `FILE.part` and put into `FILE` when the run ends.

    Where FILE is itself a source of this run (it was corrected and is ingested again), what is still refused replaces
    it once all of it has been read; a run that stopped before leaves it alone, since it still holds every record.
    Where FILE is of an earlier run, new refusals are added to it, and a run that is repeated adds nothing twice.
    """

    def __init__(self, path: Path, sources: Sequence[str]) -> None:
        if not path.parent.is_dir():
            raise SettingsError(f"--rejects {path}: there is no folder {path.parent}; make it first")
        self.path = path
        self.reasons: list[str] = []
        """The first few, with file and line."""
        self._is_source = path.exists() and any(os.path.exists(s) and path.samefile(s) for s in sources)
        # A device such as /dev/null takes lines, but has no room beside it and no end to replace.
        direct = path.exists() and not path.is_file()
        self._part = path if direct else path.with_name(path.name + ".part")
        self._file = RejectsFile(self._part, sources)

    @property
    def count(self) -> int:
        return self._file.count

    def add(self, error: RecordError) -> None:
        self._file.write(error)
        if len(self.reasons) < SHOWN:
            self.reasons.append(str(error))

    def settle(self, *, complete: bool) -> Path | None:
        """Where this run's refusals are, or None where there were none, or where their source still has them."""
        self._file.close()
        if not self.count:
            return None
        if self._part == self.path:
            return self.path
        if self._is_source and not complete:
            self._part.unlink()
            return None
        if self.path.exists() and not self._is_source:
            _append_new_lines(self._part, self.path)
            self._part.unlink()
        else:
            self._part.replace(self.path)
        return self.path


def default_rejects(store: str, shard: Shard) -> Path:
    """`papers.db` has `papers.rejects.jsonl` beside it; `https://host:9200/papers` has it in the working directory.

    Runs that share a source may run at the same time and place: each has a file of its own.
    """
    beside = Path(store.rstrip("/").rpartition("/")[2]) if is_address(store) else Path(store).with_suffix("")
    part = "" if shard.of == 1 else f".{shard.number}-of-{shard.of}"
    return beside.with_name(f"{beside.name}{part}.rejects.jsonl")


def _append_new_lines(part: Path, path: Path) -> None:
    with part.open("rb") as new, path.open("rb+") as file:
        known, last = set(), b"\n"
        for last in file:
            known.add(hash(last.rstrip(b"\r\n")))
        if not last.endswith(b"\n"):  # an editor left the last line open
            file.write(b"\n")
        file.writelines(line for line in new if hash(line.rstrip(b"\n")) not in known)
