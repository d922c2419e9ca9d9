"""What can be chosen of an index before it is made. Sizes for each choice: `sciret index plan`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from sciret.errors import SettingsError

Engine = Literal["lucene", "faiss"]
Quantization = Literal["none", "byte", "fp16", "binary"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
QUANTIZATIONS: dict[Engine, tuple[Quantization, ...]] = {
    "lucene": ("none", "byte"),
    "faiss": ("none", "fp16", "binary"),
}
"""What each engine can make of a vector's numbers: four bytes each, one, two, or a bit."""


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """How an index is laid out and how its graphs of nearest neighbours are built."""

    engine: Engine = "lucene"
    m: int = 16
    """Neighbours that a vector has in the graph."""
    ef_construction: int = 128
    """Candidates that are looked at for them."""
    shards: int = 1
    replicas: int = 1
    quantization: Quantization = "none"
    sentences: bool = True
    """Sentences as nested documents with a graph of their own, for single sentences as candidates. Reranking by
    sentences does without."""

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise SettingsError(f"there is no engine {self.engine!r}; there are {', '.join(ENGINES)}")
        if self.quantization not in QUANTIZATIONS[self.engine]:
            raise SettingsError(
                f"the engine {self.engine} has no quantization {self.quantization!r}; "
                f"it has {', '.join(QUANTIZATIONS[self.engine])}"
            )
        for name, low, high in (("m", 2, 512), ("ef_construction", 2, 3200), ("shards", 1, 1024), ("replicas", 0, 100)):
            if not low <= getattr(self, name) <= high:
                raise SettingsError(f"{name} is {getattr(self, name)}: it lies between {low} and {high}")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> IndexOptions:
        """From what an index says of itself; names that a newer sciret has written there are passed over."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})
