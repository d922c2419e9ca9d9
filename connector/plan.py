"""How much disk and memory an index will need, from what papers took in one that was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil

from sciret.mappings.options import IndexOptions

HALF, BASE64 = 2, 4 / 3
"""Bytes of a number in the binary field, and what writing it as text makes of a byte."""
OVERHEAD = 1.1
"""Of a graph in memory, by the k-NN plugin's documentation: 1.1 · (4·d + 8·m) bytes a vector."""
NUMBER = {"none": 4.0, "fp16": 2.0, "byte": 1.0, "binary": 1 / 8}
"""Bytes of a vector's number in the graph."""


FEATURES: Mapping[str, float] = {"tokens": 130.0, "keyphrases": 190.0}
"""Weights that are not zero, a paper, by the bundle's output. The default bundle gives 20,212 abstracts of the life
sciences 128.9 and 189.3 on average (totals by `sciret stats`, divided by papers). Other models have as many as they
were trained to have, so what a store counts is better where there is one."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Bytes on disk, after merging. benchmarks/index_size.py prints them, and how far off a plan by them is."""

    paper: float
    """Bibliography, its words, and the record: everything but vectors and features, of 1,000 characters of text."""
    packed: float
    """For each byte of vectors as text in the binary field."""
    sentence: float
    """A sentence as a nested document, without its vector."""
    link: float
    """For each neighbour (m) of a vector in the graph."""
    feature: float
    """A token or keyphrase with its weight."""
    loading: float
    """How many times as much the index takes right after a load, until segments are merged: the server keeps every
    request whole for a while."""


MEASURED = Figures(paper=3200, packed=1.03, sentence=184, link=1.8, feature=16.5, loading=3.6)


@dataclass(frozen=True, slots=True)
class Corpus:
    """What there is to index."""

    papers: int
    sentences: float = 9.0
    """A paper."""
    characters: float = 1500.0
    """Of title and abstract, a paper."""
    features: float = 0.0
    """Tokens and keyphrases that are not zero, a paper."""
    dims: int = 384
    """0: no vectors."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Bytes. A part is of one copy of the index."""

    parts: Mapping[str, float]
    vectors: int
    copies: int
    nodes: int
    graphs: float
    """In memory, for one copy: the page cache with lucene, native memory with faiss."""
    loading: float
    """On disk right after a load, for one copy: it is written without replicas."""

    @property
    def index(self) -> float:
        return sum(self.parts.values())

    @property
    def disk(self) -> float:
        return self.index * self.copies

    @property
    def disk_a_node(self) -> float:
        return self.disk / self.nodes

    @property
    def memory_a_node(self) -> float:
        return self.graphs * self.copies / self.nodes


def features_of(outputs: Iterable[str]) -> float:
    """Of a paper, for a bundle with these outputs."""
    return sum(FEATURES.get(output, 0.0) for output in outputs)


def estimate(corpus: Corpus, layout: IndexOptions, nodes: int = 1, figures: Figures = MEASURED) -> Plan:
    """Parts grow in proportion: ten times the papers take ten times the space."""
    papers, dims = corpus.papers, corpus.dims
    rows = papers * (1 + corpus.sentences) if dims else 0.0
    graph_rows = rows if layout.sentences else min(papers, rows)
    number = NUMBER[layout.quantization]
    parts = {
        "papers": papers * figures.paper * corpus.characters / 1000,
        "vectors for rescoring": rows * dims * HALF * BASE64 * figures.packed,
        "vectors": graph_rows * dims * 4.0,
        "graphs": graph_rows * layout.m * figures.link,
        "sentences": papers * corpus.sentences * figures.sentence if layout.sentences else 0.0,
        "tokens and keyphrases": papers * corpus.features * figures.feature,
    }
    if layout.quantization != "none" or layout.engine == "faiss":
        # Beside the vectors as they are; faiss keeps a second set of its own in any case.
        parts["vectors of the graph"] = graph_rows * dims * number
    index = sum(parts.values())
    return Plan(
        parts=parts,
        vectors=ceil(graph_rows),
        copies=1 + layout.replicas,
        nodes=nodes,
        graphs=OVERHEAD * (number * dims + 8 * layout.m) * graph_rows,
        loading=index * figures.loading,
    )
