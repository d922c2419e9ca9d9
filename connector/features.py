"""Names of sparse features as `rank_features` can keep and find them.

OpenSearch takes a name with a dot, and a `rank_feature` query for it then silently matches nothing. So dots are
written otherwise, here and nowhere else, on the way in, in queries and on the way back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from sciret.errors import StoreError

LONGEST = 32_766
"""Bytes of a name in the index."""
SMALLEST = 1.17549435e-38
"""The smallest weight that `rank_features` takes: float32's smallest normal number."""
LARGEST = 3.4028234e38
_EMPTY = "%"
"""Stands for the name without a letter; no escaped name ends in a lone percent sign."""


def escape(name: str) -> str:
    """The name in the index. Different names stay different."""
    return name.replace("%", "%25").replace(".", "%2E") or _EMPTY


def unescape(name: str) -> str:
    return "" if name == _EMPTY else name.replace("%2E", ".").replace("%25", "%")


def escape_weights(weights: Mapping[str, float], paper_id: str) -> dict[str, float]:
    """For a document. A weight of 0 is no feature; what the index would refuse is refused before anything is sent."""
    written: dict[str, float] = {}
    for name, weight in weights.items():
        value = float(weight)
        if value == 0:
            continue
        if not (math.isfinite(value) and SMALLEST <= value <= LARGEST):
            raise StoreError(f"paper {paper_id!r}: the feature {name[:40]!r} weighs {value}; encode it again")
        escaped = escape(name)
        if len(escaped.encode("utf-8", "surrogatepass")) > LONGEST:
            raise StoreError(f"paper {paper_id!r}: the feature {name[:40]!r}… is longer than {LONGEST:,} bytes")
        written[escaped] = value
    return written


def unescape_weights(weights: Mapping[str, float]) -> dict[str, float]:
    return {unescape(name): float(weight) for name, weight in weights.items()}
