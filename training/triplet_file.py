"""The file that mining writes: appended in pieces that are each complete, so that a stopped run can be continued."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from sciret.errors import SettingsError

PIECE = 500
"""Triplets between two checkpoints."""


@dataclass(slots=True)
class TripletFile:
    """`OUT.partial` until it is whole, beside a state that says how far it is good."""

    out: Path
    digest: str
    file: IO[bytes]
    continued: int = 0
    """Triplets that an earlier run has written: as many are passed over."""
    counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _seen: int = 0
    _waiting: list[bytes] = field(default_factory=list)

    @classmethod
    def open(cls, out: Path, digest: str) -> TripletFile:
        """Continues what is there of the same configuration and data, and refuses to mix it with anything else."""
        partial, state = _partial(out), _state(out)
        if not state.exists():
            return cls(out, digest, partial.open("wb"))
        kept = json.loads(state.read_text(encoding="utf-8"))
        if kept["digest"] != digest:
            raise SettingsError(
                f"{partial} was begun with other options or data; delete {partial.name} and {state.name} to begin "
                f"anew, or name another --out"
            )
        file = partial.open("r+b")
        file.truncate(kept["bytes"])
        file.seek(kept["bytes"])
        counts = defaultdict(Counter, {source: Counter(each) for source, each in kept["counts"].items()})
        return cls(out, digest, file, kept["triplets"], counts)

    def passes_over(self) -> bool:
        """Whether the next triplet is written already; asked once for each."""
        self._seen += 1
        return self._seen <= self.continued

    def write(self, triplet: dict[str, Any], **counted: int) -> None:
        counts = self.counts[triplet["source"]]
        counts.update({"triplets": 1, triplet["split"]: 1, **counted})
        self._waiting.append(json.dumps(triplet, ensure_ascii=False).encode() + b"\n")
        if len(self._waiting) == PIECE:
            self._checkpoint()

    def finish(self) -> None:
        self._checkpoint()
        self.file.close()
        _partial(self.out).replace(self.out)
        _state(self.out).unlink()

    def _checkpoint(self) -> None:
        piece = b"".join(self._waiting)
        # No time in the header: the same data must give the same bytes.
        self.file.write(gzip.compress(piece, mtime=0) if self.out.suffix == ".gz" else piece)
        self.file.flush()
        self._waiting = []
        state = _state(self.out)
        values = {"digest": self.digest, "bytes": self.file.tell(), "triplets": self._seen, "counts": self.counts}
        aside = state.with_name(state.name + ".new")
        aside.write_text(json.dumps(values), encoding="utf-8")
        aside.replace(state)

    def __enter__(self) -> TripletFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()


def _partial(out: Path) -> Path:
    return out.with_name(out.name + ".partial")


def _state(out: Path) -> Path:
    return out.with_name(out.name + ".state.json")
