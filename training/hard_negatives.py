"""Papers that look like an answer and are none: by their words (BM25), by the model, or passed over by users."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.encoders.analysis import surface_words
from sciret.encoders.phrase_words import phrase_key
from sciret.errors import SettingsError
from sciret.paper import Paper
from sciret.store import Channel, Scope, Store
from sciret.training.draws import generator
from sciret.training.mined_examples import Example
from sciret.training.paper_facts import PaperFacts

WORDS_ONLY = "words"
"""In place of a model's fingerprint, in a store that has no vectors."""
QUERY_WORDS = 12
_BATCH = 1024
Ranking = Callable[[str, int], Sequence[str]]
"""The best papers for a query, as many as asked for."""


@dataclass(frozen=True, slots=True)
class ModelRanking:
    fingerprint: str
    """Of the model, for the manifest."""
    best: Ranking


def add_words(store: Store, papers: Iterable[Paper]) -> None:
    """Put these papers into a store with their words and nothing else; those that it has already are skipped."""
    stream = iter(papers)
    while batch := list(islice(stream, _BATCH)):
        known = store.hashes([paper.id for paper in batch])
        store.write(
            [EncodedPaper(p, WORDS_ONLY, sentences=(p.title,)) for p in batch if known.get(p.id) != p.content_hash]
        )


def by_words(store: Store, frequency: Mapping[str, int]) -> Ranking:
    """BM25 by a query's rarest words, as many as matter: common ones cost most of the time and hardly change ranks."""

    def best(query: str, k: int) -> Sequence[str]:
        written = surface_words(query)
        rarest = sorted((term for term in written if term), key=lambda term: (frequency.get(term, 0), term))
        told = [term for term in rarest if frequency.get(term, 0)][:QUERY_WORDS]
        text = " ".join(written[term] for term in told)
        return store.candidates(EncodedQuery(text, WORDS_ONLY), ["bm25"], k, Scope()) if told else ()

    return best


def by_model(store: Store, encode: Callable[[str], EncodedQuery]) -> Ranking:
    """The best by what the model of a store gives: by dense vectors, by learned sparse features, or by each of both."""
    learned = "casper" in store.channels

    def best(query: str, k: int) -> Sequence[str]:
        encoded = encode(query)
        channels: list[Channel] = []
        if encoded.dense is not None:
            channels.append("dense")
        if learned and (encoded.tokens or encoded.keyphrases):
            channels.append("casper")
        if not (learned or channels):
            raise SettingsError(
                "the model of this store gives neither vectors nor learned features, only words, which negatives are "
                "chosen by already; leave --model-store out"
            )
        return store.candidates(encoded, channels, k, Scope()) if channels else ()

    return best


@dataclass(frozen=True, slots=True, eq=False)
class NegativeMiner:
    """Draws negatives from the best papers of each ranking, as many from one as from the other.

    They are drawn from the first `depth` and not taken from the top: the very best are often answers that nobody
    judged, and drawn ones differ from query to query in how hard they are.
    """

    rankings: Sequence[Ranking]
    facts: PaperFacts
    ids: Sequence[str]
    """All papers that may be negatives, to fill up with where the rankings give too few."""
    count: int
    depth: int
    seed: int

    def negatives(self, example: Example) -> tuple[list[str], int]:
        """So many as wanted, and how many of them came by chance because the rankings gave too few."""
        if not self.count:  # for training that finds its own: ranking is most of the work of mining
            return [], 0
        chance = generator(self.seed, "negatives", example.key)
        excluded = {example.positive, example.origin, *example.relevant}
        asked = [phrase_key(part) for part in example.query.split(", ")] if example.source == "keyphrases" else []
        chosen: dict[str, None] = {}

        def usable(candidate: str) -> bool:
            if (
                candidate in excluded
                or candidate in chosen
                or self.facts.is_false_negative(candidate, example.positive)
            ):
                return False
            return not (asked and self.facts.has_keyphrases(candidate, asked))

        chosen.update(dict.fromkeys([c for c in example.shown if usable(c)][: self.count]))
        for number, ranking in enumerate(self.rankings):
            found = list(ranking(example.query, self.depth))
            chance.shuffle(found)
            wanted = (self.count - len(chosen)) // (len(self.rankings) - number)
            chosen.update(dict.fromkeys(islice(filter(usable, found), wanted)))
        missing = self.count - len(chosen)
        for _ in range(20 * missing):
            if len(chosen) == self.count:
                break
            candidate = chance.choice(self.ids)
            if usable(candidate):
                chosen[candidate] = None
        return list(chosen), missing
