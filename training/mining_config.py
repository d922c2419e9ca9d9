"""What is mined, from what, and how much of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sciret.encoders.bundle import sha256
from sciret.errors import SettingsError
from sciret.sources.reader import open_source
from sciret.training.mined_examples import SOURCES, SourceName

WEIGHTS: Mapping[SourceName, float] = {
    "titles": 0.5,
    "contexts": 1.0,
    "cited_titles": 0.5,
    "cocitations": 1.0,
    "keyphrases": 0.5,
    "queries": 1.0,
}
"""References teach most, says the paper; titles and keyphrases are easy, and titles alone are half a paper."""


@dataclass(frozen=True, slots=True)
class MiningConfig:
    corpus: tuple[str, ...]
    contexts: str | None = None
    cocitations: str | None = None
    queries: str | None = None
    exclude: tuple[str, ...] = ()
    """Files of queries that must not be trained on: lines with `text` or `query`."""
    title_only: bool = False
    """Also contexts of papers that the corpus does not have, by their titles."""
    weights: Mapping[str, float] = field(default_factory=dict)
    caps: Mapping[str, int] = field(default_factory=dict)
    """Most examples of a source, drawn evenly; a cap of 0 leaves it out."""
    negatives: int = 8
    depth: int = 100
    dev_share: float = 0.02
    seed: int = 0

    def __post_init__(self) -> None:
        for name in (*self.weights, *self.caps):
            if name not in SOURCES:
                raise SettingsError(f"there is no source {name!r}; there are {', '.join(SOURCES)}")
        if any(weight <= 0 for weight in self.weights.values()) or any(cap < 0 for cap in self.caps.values()):
            raise SettingsError("a weight is above 0, a cap is 0 (the source is left out) or above")
        if self.negatives < 0 or self.depth < max(self.negatives, 1) or not 0 <= self.dev_share < 1:
            raise SettingsError("negatives are 0 or more, depth is at least as much, and the dev share lies in 0..1")
        if not self.corpus:
            raise SettingsError("give the papers that negatives are drawn from with --corpus")
        for path in self.corpus:
            if path == "-":
                raise SettingsError("a corpus is read several times, so it cannot come from stdin: give files")
            open_source(path)
        for path in self._others():
            if not Path(path).is_file():
                raise SettingsError(f"{path}: no such file")

    @property
    def sources(self) -> tuple[SourceName, ...]:
        """Those that there is data for and that are not left out."""
        given = {
            "contexts": self.contexts,
            "cited_titles": self.contexts and self.title_only,
            "cocitations": self.cocitations or self.contexts,
            "queries": self.queries,
        }
        return tuple(name for name in SOURCES if given.get(name, True) and self.caps.get(name) != 0)

    def weight(self, source: SourceName) -> float:
        return self.weights.get(source, WEIGHTS[source])

    def inputs(self) -> list[dict[str, str]]:
        """Every file with its sha256, by its name without folders: where it lies does not change what is mined."""
        paths = [Path(path) for path in (*self.corpus, *self._others())]
        return [{"file": path.name, "sha256": sha256(path)} for path in paths]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; files by their names."""
        values = asdict(self)
        for name in ("contexts", "cocitations", "queries"):
            values[name] = Path(values[name]).name if values[name] else None
        for name in ("corpus", "exclude"):
            values[name] = [Path(path).name for path in values[name]]
        values["weights"] = {name: self.weight(name) for name in self.sources}
        return values

    def _others(self) -> tuple[str, ...]:
        return tuple(path for path in (self.contexts, self.cocitations, self.queries, *self.exclude) if path)


def digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
