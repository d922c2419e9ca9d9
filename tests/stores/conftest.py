"""Every test here runs on each Store. A new store joins by a Place of its own in `PLACES`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from sciret.connector.store import OpenSearchStore
from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper, EncodedQuery, Vector
from sciret.encoders.analysis import count_terms
from sciret.mappings.options import IndexOptions
from sciret.paper import Paper
from sciret.store import SPARSE, Channel, Sparse, Store

DIMS = 16
MODEL = "a" * 64
VOCABULARY = [
    f"{a}{b}" for a in ("neuro", "photo", "thermo", "hydro", "micro") for b in ("logy", "graph", "meter", "gen")
]


class EmbeddedPlace:
    """Where embedded stores live: files of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.today = date(2024, 6, 1)
        self._opened: list[Store] = []

    def open(self, name: str = "store") -> Store:
        store = EmbeddedStore.open(self.folder / f"{name}.db", create=True, today=lambda: self.today)
        self._opened.append(store)
        return store

    def close(self) -> None:
        for store in self._opened:
            store.close()


class OpenSearchPlace:
    """Where OpenSearch stores live: aliases of one server. They rank exactly, as the embedded ones do."""

    def __init__(self, url: str, prefix: str) -> None:
        self.url, self.prefix = url, prefix
        self.today = date(2024, 6, 1)
        self._opened: list[Store] = []

    def open(self, name: str = "store") -> Store:
        store = OpenSearchStore.open(
            f"{self.url}/{self.prefix}-{name}",
            create=True,
            exact=True,
            options=IndexOptions(replicas=0),
            today=lambda: self.today,
        )
        self._opened.append(store)
        return store

    def close(self) -> None:
        for store in self._opened:
            store.close()


Place = EmbeddedPlace | OpenSearchPlace
PLACES = {"embedded": None, "opensearch": "opensearch", "opensearch_2": "opensearch_2"}
"""Each place with the fixture of the server that it needs."""


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path, unique_name: Callable[[], str]) -> Iterator[Place]:
    """Opens stores by name, the same one again by the same name, and says which day they think it is."""
    server = PLACES[request.param]
    made = OpenSearchPlace(request.getfixturevalue(server).url, unique_name()) if server else EmbeddedPlace(tmp_path)
    yield made
    made.close()


@pytest.fixture
def examples(place: Place) -> Callable[[int], settings]:
    """How hard to look for a counterexample: less so on a server, where a try takes some ten times as long."""

    def choose(count: int) -> settings:
        tries = count if isinstance(place, EmbeddedPlace) else max(count // 6, 1)
        return settings(max_examples=tries, deadline=None)

    return choose


@pytest.fixture
def store(place: Place) -> Store:
    """An empty one."""
    return place.open()


@dataclass(frozen=True)
class Maker:
    """Random papers and queries; the same seed gives the same ones."""

    rng: np.random.Generator
    weighing: np.random.Generator = field(default_factory=lambda: np.random.default_rng(6))

    def paper(self, paper_id: str, **fields: object) -> EncodedPaper:
        words = self.rng.choice(VOCABULARY, int(self.rng.integers(3, 60)), p=_ZIPF).tolist()
        paper = Paper(paper_id, " ".join(words[:3]), " ".join(words[3:]), **fields)  # type: ignore[arg-type]
        count = int(self.rng.integers(1, 5))
        sentences = tuple(f"Sentence {i} of {paper_id}." for i in range(count))
        return EncodedPaper(
            paper,
            MODEL,
            self.vectors(1)[0],
            sentences,
            ("method",) * count,
            self.vectors(count),
            tokens=self.weights(dict.fromkeys(words)),
            keyphrases=self.weights(dict.fromkeys(f"{a} {b}." for a, b in pairwise(words))),
        )

    def papers(self, count: int, prefix: str = "p") -> list[EncodedPaper]:
        return [self.paper(f"{prefix}{number}") for number in range(count)]

    def query(self, text: str | None = None, **parts: object) -> EncodedQuery:
        text = text or " ".join(self.rng.choice(VOCABULARY, 4))
        words = text.split()
        query = EncodedQuery(
            text,
            MODEL,
            self.vectors(1)[0],
            (text,),
            self.vectors(2),
            tokens=self.weights(dict.fromkeys(words)),
            keyphrases=self.weights(dict.fromkeys(f"{a} {b}." for a, b in product(VOCABULARY[:3], words[:3]))),
        )
        return replace(query, **parts)  # type: ignore[arg-type]

    def weights(self, names: Iterable[str]) -> dict[str, float]:
        return {name: float(np.float32(self.weighing.uniform(0.05, 3))) for name in names}

    def vectors(self, count: int) -> Vector:
        rows = self.rng.standard_normal((count, DIMS)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)  # type: ignore[no-any-return]


_ZIPF = 1 / np.arange(1, len(VOCABULARY) + 1)
_ZIPF /= _ZIPF.sum()


@pytest.fixture
def make() -> Maker:
    return Maker(np.random.default_rng(5))


Parts = Mapping[tuple[str, str], float]
"""What features add to a score: `terms`, `tokens` or `keyphrases`, and the name."""


class Reference:
    """The scores by their definitions, paper by paper, in plain Python."""

    def __init__(self, papers: Sequence[EncodedPaper]) -> None:
        self.papers = {paper.paper.id: paper for paper in papers}
        self.counts = {paper.paper.id: count_terms(paper.paper.text) for paper in papers}
        lengths = [counts.total() for counts in self.counts.values() if counts]
        self.size = len(lengths)
        self.average = sum(lengths) / max(len(lengths), 1)
        self.having = Counter(term for counts in self.counts.values() for term in counts)

    def scores(self, query: EncodedQuery, channel: Channel | Sparse) -> dict[str, float]:
        """Of every paper; a paper that a sparse channel does not find has 0."""
        if channel in SPARSE:
            return {paper_id: sum(parts.values()) for paper_id, parts in self.parts(query, channel).items()}
        return {paper_id: self._cosine(query, paper, channel) for paper_id, paper in self.papers.items()}

    def ranking(self, query: EncodedQuery, channel: Channel, k: int) -> list[str]:
        scores = self.scores(query, channel)
        found = [i for i in scores if channel not in SPARSE or scores[i] > 0]
        return sorted(found, key=lambda i: (-round(scores[i], 12), i))[:k]

    def parts(self, query: EncodedQuery, channel: Channel | Sparse) -> dict[str, Parts]:
        """What each feature of the query adds to each paper's score."""
        if channel == "both":
            words, features = self.parts(query, "bm25"), self.parts(query, "casper")
            return {i: {name: 0.5 * w for name, w in (*words[i].items(), *features[i].items())} for i in self.papers}
        if channel == "casper":
            return {paper_id: self._casper(query, paper) for paper_id, paper in self.papers.items()}
        terms = {term: count for term, count in count_terms(query.text).items() if self.having[term]}
        weigh = self._bm25 if channel == "bm25" else self._tfidf
        weighed = {paper_id: weigh(terms, counts) for paper_id, counts in self.counts.items()}
        return {i: {("terms", term): w for term, w in each.items()} for i, each in weighed.items()}

    def _casper(self, query: EncodedQuery, paper: EncodedPaper) -> Parts:
        squares = sum(w * w for w in query.tokens.values()) + query.beta * sum(w * w for w in query.keyphrases.values())
        tokens = {("tokens", name): w * paper.tokens.get(name, 0.0) / squares for name, w in query.tokens.items()}
        return tokens | {
            ("keyphrases", name): query.beta * w * paper.keyphrases.get(name, 0.0) / squares
            for name, w in query.keyphrases.items()
        }

    def _bm25(self, terms: Mapping[str, int], counts: Counter[str]) -> Mapping[str, float]:
        idf = {t: math.log(1 + (self.size - self.having[t] + 0.5) / (self.having[t] + 0.5)) for t in terms}
        highest = sum(idf[t] * terms[t] for t in terms)
        norm = 1.2 * (0.25 + 0.75 * lucene_length(counts.total()) / self.average)
        return {t: terms[t] * idf[t] / highest * counts[t] / (counts[t] + norm) for t in terms}

    def _tfidf(self, terms: Mapping[str, int], counts: Counter[str]) -> Mapping[str, float]:
        weights = {t: (1 + math.log(n)) * math.log(self.size / self.having[t]) for t, n in terms.items()}
        query_norm = math.sqrt(sum(w * w for w in weights.values())) or 1.0
        norm = math.sqrt(sum((1 + math.log(n)) ** 2 for n in counts.values())) or 1.0
        return {t: w / query_norm * (1 + math.log(counts[t])) / norm if counts[t] else 0.0 for t, w in weights.items()}

    def _cosine(self, query: EncodedQuery, paper: EncodedPaper, channel: Channel | Sparse) -> float:
        """Between vectors as a store keeps them: half precision."""
        left = query.dense if channel == "dense" else query.sentence_vectors
        right = paper.dense if channel == "dense" else paper.sentence_vectors
        assert left is not None
        assert right is not None
        kept = np.atleast_2d(right).astype(np.float16).astype(np.float64)
        return float((np.atleast_2d(left).astype(np.float64) @ kept.T).max())


def lucene_length(length: int) -> int:
    """A length after a trip through the byte that Lucene keeps of it (SmallFloat)."""
    if length < 24:
        return length
    bits = (length - 24).bit_length()
    if bits < 4:
        return length
    shift = bits - 4
    return 24 + (((length - 24) >> shift) << shift)


@pytest.fixture
def reference() -> Callable[[Sequence[EncodedPaper]], Reference]:
    return Reference
