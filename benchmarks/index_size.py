"""What papers take on the disk of an OpenSearch index, part by part: the figures behind `sciret index plan`.

    python benchmarks/index_size.py PAPERS.jsonl [--papers 3000] [--store http://127.0.0.1:9200/sizes]

Indexes the papers in several layouts, each forced into one segment, and divides the size of its files by what is in
them. Half of the papers give the figures; the plan for the other half is compared with what that half really takes.
Sentences and words are those of the papers; vectors are random, since their size does not depend on what they say.
Without --store a server of its own is started for it (see `sciret opensearch`). The index is removed afterwards.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice

import numpy as np

from sciret.connector.address import Address
from sciret.connector.client import Client, connect
from sciret.connector.indices import IndexOptions, create_index, index_meta
from sciret.connector.local_server import throwaway_server
from sciret.connector.plan import BASE64, HALF, MEASURED, Corpus, Figures, estimate
from sciret.connector.store import OpenSearchStore
from sciret.connector.versions import read_versions, remove
from sciret.encoded import EncodedPaper
from sciret.encoders.analysis import count_terms
from sciret.encoders.bundle import load_bundle
from sciret.encoders.text import TextReader
from sciret.paper import Paper
from sciret.sources.reader import open_source

DIMS = 384
PLAIN = IndexOptions(replicas=0)
WIDE = replace(PLAIN, m=48)
FLAT = replace(PLAIN, sentences=False)
PATIENCE = 180
"""Seconds to wait for the server to be done with the requests of a load: it looks every half minute."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--papers", type=int, default=3000)
    parser.add_argument("--store")
    options = parser.parse_args()
    papers = [paper for paper in islice(open_source(options.source), options.papers) if isinstance(paper, Paper)]
    with cluster(options.store) as client:
        measure(client, papers)


def measure(client: Client, papers: Sequence[Paper]) -> None:
    first, second = encode(papers[::2]), encode(papers[1::2])
    figures = fit(client, first)
    print("figures, in bytes, of", describe(corpus_of(first)))
    for name, value in asdict(figures).items():
        print(f"  {name:10} {value:10.3f}")
    print("plans for the other half, by them and by the figures of `sciret index plan`,", describe(corpus_of(second)))
    for name, layout in (("default", PLAIN), ("without sentences", FLAT), ("m = 48", WIDE)):
        found = size(client, second, layout).merged
        by_these, by_those = (estimate(corpus_of(second), layout, figures=each).index for each in (figures, MEASURED))
        print(f"  {name:18} {found / 1e6:7.1f} MB: off by {by_these / found - 1:+.1%} and {by_those / found - 1:+.1%}")


def fit(client: Client, papers: Sequence[EncodedPaper]) -> Figures:
    """Each part is what one layout takes more than another. The size of the vectors themselves is known."""
    corpus = corpus_of(papers)
    rows, sentences = corpus.papers * (1 + corpus.sentences), corpus.papers * corpus.sentences
    bare = size(client, [replace(each, dense=None, sentence_vectors=None) for each in papers], PLAIN).merged
    flat, plain, wide = (size(client, papers, layout) for layout in (FLAT, PLAIN, WIDE))
    featured = [with_features(each) for each in papers]
    features = size(client, featured, FLAT).merged - flat.merged
    link = (wide.merged - plain.merged) / (rows * (WIDE.m - PLAIN.m))
    packed = flat.merged - bare - corpus.papers * (4 * DIMS + link * FLAT.m)
    nested = plain.merged - flat.merged - sentences * (4 * DIMS + link * PLAIN.m)
    return Figures(
        paper=bare / corpus.papers / (corpus.characters / 1000),
        packed=packed / (rows * DIMS * HALF * BASE64),
        sentence=nested / sentences,
        link=link,
        feature=features / sum(len(each.tokens) for each in featured),
        loading=plain.loaded / plain.merged,
    )


def corpus_of(papers: Sequence[EncodedPaper]) -> Corpus:
    sentences = sum(len(each.sentences) for each in papers) / len(papers)
    characters = sum(len(each.paper.text) for each in papers) / len(papers)
    return Corpus(len(papers), sentences, characters, dims=DIMS)


def describe(corpus: Corpus) -> str:
    return f"{corpus.papers:,} papers of {corpus.sentences:.1f} sentences, {corpus.characters:,.0f} characters:"


def encode(papers: Sequence[Paper]) -> list[EncodedPaper]:
    reader, rng = TextReader(load_bundle("default")), np.random.default_rng(1)
    return [_random(paper, reader.read_paper(paper).sentences, rng) for paper in papers]


def _random(paper: Paper, sentences: tuple[str, ...], rng: np.random.Generator) -> EncodedPaper:
    rows = rng.standard_normal((len(sentences) + 1, DIMS)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return EncodedPaper(paper, "size", rows[0], sentences, ("other",) * len(sentences), rows[1:])


def with_features(encoded: EncodedPaper) -> EncodedPaper:
    """Every word as a feature, with a weight of its own."""
    terms = count_terms(encoded.paper.text)
    return replace(encoded, tokens={term: 0.1 + len(term) * count / 7 for term, count in terms.items()})


@dataclass(frozen=True)
class Size:
    """Bytes of an index right after it was written, and when its segments are merged into one."""

    loaded: int
    merged: int


def size(client: Client, papers: Sequence[EncodedPaper], layout: IndexOptions) -> Size:
    name, alias = read_versions(client).next_name, client.address.alias
    create_index(client, name, layout, index_meta(layout, model=None, dims=None), alias=alias)
    try:
        store = OpenSearchStore(client, refresh=False)
        for start in range(0, len(papers), 250):
            store.write(papers[start : start + 250])
        client.call("POST", f"/{name}/_flush")
        loaded = stored_bytes(client, name)
        forget_requests(client, name)
        store.write(papers[:1])  # so that there is something to merge
        client.call("POST", f"/{name}/_flush")
        client.call("POST", f"/{name}/_forcemerge", params={"max_num_segments": 1}, timeout=1800)
        client.call("POST", f"/{name}/_flush")
        client.call("POST", f"/{name}/_refresh")
        return Size(loaded, stored_bytes(client, name))
    finally:
        remove(client, read_versions(client).named(name), force=True)


def forget_requests(client: Client, index: str) -> None:
    """Every request is kept whole, for copies that might ask for it, until a merge after nobody can ask any more."""
    late = time.monotonic() + PATIENCE
    while time.monotonic() < late:
        answer = client.call("GET", f"/{index}/_stats/docs", params={"level": "shards"})
        ((shard,),) = answer["indices"][index]["shards"].values()
        kept = min(lease["retaining_seq_no"] for lease in shard["retention_leases"]["leases"])
        if kept > shard["seq_no"]["max_seq_no"]:
            return
        time.sleep(1)
    raise SystemExit(f"{index}: the server keeps requests for longer than {PATIENCE} s")


def stored_bytes(client: Client, index: str) -> int:
    """Files of segments; the translog is not among them."""
    return int(client.call("GET", f"/{index}/_stats/store")["_all"]["primaries"]["store"]["size_in_bytes"])


@contextmanager
def cluster(store: str | None) -> Iterator[Client]:
    if store:
        client = connect(Address.parse(store))
        yield client
        client.close()
        return
    with throwaway_server(heap="1g") as server, cluster(f"{server.url}/sizes") as client:
        yield client


if __name__ == "__main__":
    main()
