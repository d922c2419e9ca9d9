"""What answers at an address, and whether sciret can work with it."""

from __future__ import annotations

import re
from dataclasses import dataclass

OLDEST = (2, 19)
KNN = "opensearch-knn"
NEURAL = "opensearch-neural-search"


@dataclass(frozen=True, slots=True)
class Server:
    """What answers at an address."""

    number: str
    distribution: str
    plugins: frozenset[str] | None
    """None where we may not know: the server has the last word then."""

    @property
    def version(self) -> tuple[int, ...]:
        return tuple(int(part) for part in re.findall(r"\d+", self.number)[:3])

    @property
    def derives_vectors(self) -> bool:
        """Whether it keeps vectors once, in their graph, and not in the document as well."""
        return self.version >= (3, 0)

    def has(self, plugin: str) -> bool:
        return self.plugins is not None and plugin in self.plugins

    def lacks(self) -> str | None:
        """What sciret misses there, in one sentence; None where nothing is missing."""
        if self.distribution != "opensearch":
            return f"this is {self.distribution} {self.number}, not OpenSearch: sciret needs OpenSearch 2.19 or newer"
        if self.version < OLDEST:
            return f"this is OpenSearch {self.number}: sciret needs 2.19 or newer, so upgrade the cluster"
        if self.plugins is not None and KNN not in self.plugins:
            return f"OpenSearch {self.number} is there without its k-NN plugin: install {KNN} on every node"
        return None
