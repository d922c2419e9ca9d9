"""What must be known of all examples before the first is taken: where the caps cut, and which queries are held out.

An example is taken when its draw lies below a threshold, so caps cost 8 bytes an example and no shuffling, and which
examples are taken does not depend on the order of the files.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from sciret.encoders.phrase_words import phrase_letters
from sciret.training.draws import draw, share
from sciret.training.mined_examples import Example, SourceName, rows

EVERYTHING = 1 << 64


def same_query(query: str) -> int:
    """Equal for two queries that differ in case, marks, plurals or blanks only."""
    return draw(0, phrase_letters(query))


@dataclass(slots=True)
class Survey:
    """Filled source by source; contexts come before co-citations, whose split follows from theirs."""

    seed: int
    dev_share: float
    excluded: set[int] = field(default_factory=set)
    """Queries that must not be trained on."""
    dev_queries: set[int] = field(default_factory=set)
    pairs: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """Splits in which two papers are cited together."""
    found: dict[SourceName, int] = field(default_factory=dict)
    _thresholds: dict[tuple[SourceName, str], int] = field(default_factory=dict)

    def exclude(self, paths: Iterable[str]) -> None:
        for path in paths:
            for _, row in rows(path):
                self.excluded.update(same_query(str(row[name])) for name in ("text", "query") if row.get(name))

    def split(self, example: Example) -> str:
        """By who asks. A co-citation is in the split of the sentence that made it, and in none where it has several."""
        if example.source == "cocitations":
            splits = self.pairs.get(pair_of(example.positive, example.relevant[0]), {"train"})
            return next(iter(splits)) if len(splits) == 1 else ""
        return self.split_of(example.origin)

    def split_of(self, origin: str) -> str:
        return "dev" if share(self.seed, "split", origin) < self.dev_share else "train"

    def cited_together(self, a: str, b: str, context: str) -> None:
        split = "dev" if same_query(context) in self.dev_queries else "train"
        self.pairs.setdefault(pair_of(a, b), set()).add(split)

    def look_at(self, source: SourceName, examples: Iterable[Example], cap: int | None) -> None:
        """Count the examples of a source, hold out the queries of those in dev, and find where its cap cuts."""
        draws: defaultdict[str, array[int]] = defaultdict(lambda: array("Q"))
        for example in examples:
            draws[example.stratum].append(self._draw(example))
            if self.split(example) == "dev":
                self.dev_queries.add(same_query(example.query))
        self.found[source] = sum(map(len, draws.values()))
        quotas = even_shares({stratum: len(each) for stratum, each in draws.items()}, cap)
        for stratum, each in draws.items():
            self._thresholds[source, stratum] = _threshold(each, quotas[stratum])

    def takes(self, example: Example) -> bool:
        return self._draw(example) < self._thresholds[example.source, example.stratum]

    def leaks(self, example: Example, split: str) -> bool:
        """The query is one to be tested with, or is in dev by another example."""
        query = same_query(example.query)
        return query in self.excluded or (split != "dev" and query in self.dev_queries)

    def _draw(self, example: Example) -> int:
        return draw(self.seed, example.source, example.key)


def pair_of(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)


def even_shares(sizes: dict[str, int], cap: int | None) -> dict[str, int]:
    """How many each may give so that none gives more than another unless that one has no more."""
    if cap is None:
        return dict(sizes)
    shares: dict[str, int] = {}
    left = cap
    for number, name in enumerate(sorted(sizes, key=lambda name: (sizes[name], name))):
        shares[name] = min(sizes[name], left // (len(sizes) - number))
        left -= shares[name]
    return shares


def _threshold(draws: array[int], quota: int) -> int:
    if quota >= len(draws):
        return EVERYTHING
    return int(np.partition(np.frombuffer(draws, np.uint64), quota)[quota])
