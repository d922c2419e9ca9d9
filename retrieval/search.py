"""The search path: candidates of each channel, both sides completed, λ fusion, sentence rerank, hits with reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal, get_args

from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.encoders.learned import MOST, limit, top
from sciret.encoders.sparse_side import shares, taken_apart
from sciret.errors import QueryError, SettingsError, StoreError, WrongModelError
from sciret.hit import Hit, Why
from sciret.retrieval.explain import explain
from sciret.retrieval.fusion import Scores, blend, fuse, rank
from sciret.retrieval.transport import ASPECT_TAU, WHOLE_TAU, SentenceMatches, match
from sciret.store import Channel, Completed, Scope, Sparse, Store

Rerank = Literal["transport", "single", "attention", "none"]
RERANK: tuple[Rerank, ...] = get_args(Rerank)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search. docs/defaults.md has the measurements behind the defaults."""

    k: int = 10
    from_: int = 0
    """Hits that are passed over: those from 10 on are the second page of ten."""
    candidates: int = 100
    """How many each channel proposes; every proposed paper is scored in full."""
    lambda_: float = 0.65
    sparse: Sparse | None = "bm25"
    """What every store has. `best_sparse` says which is the best that a store has."""
    beta: float | None = None
    """What a keyphrase counts beside a token, with `casper` and `both`; None takes what the model was made for."""
    rerank: Rerank = "transport"
    rerank_weight: float = 0.1
    """Share of the sentence match in the final score; the fused score has the rest."""
    aspect_weight: float = 0.8
    """The same for a search by some of a paper's sentences."""
    scope: Scope = field(default_factory=Scope)

    def __post_init__(self) -> None:
        if self.k < 1 or self.candidates < 1 or self.from_ < 0:
            raise SettingsError("-k and --candidates are at least 1, and --from is at least 0")
        if not all(0 <= share <= 1 for share in (self.lambda_, self.rerank_weight, self.aspect_weight)):
            raise SettingsError("--lambda and --rerank-weight lie between 0 and 1")
        if self.beta is not None and not 0 <= self.beta < inf:
            raise SettingsError(f"--beta is a number from 0 on, not {self.beta}")


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The candidates with their scores, best first in `order`; reasons are worked out for those that are shown."""

    query: EncodedQuery
    found: Completed
    fused: Scores  # [n]
    matches: SentenceMatches | None
    scores: Scores  # [n] what the ranking is by
    order: Sequence[int]
    passed_over: int = 0
    """Better ones that `order` leaves out."""
    sparse: Sparse | None = "bm25"

    def scored_ids(self) -> Iterator[tuple[str, float]]:
        for i in self.order:
            yield self.found.ids[i], float(self.scores[i])

    def hits(self) -> Iterator[Hit]:
        """Decode and explain the records of the hits, and only of those."""
        for position, i in enumerate(self.order, start=self.passed_over + 1):
            stored = self.found.load(i)
            yield Hit(
                rank=position,
                score=float(self.scores[i]),
                paper=stored.paper,
                parts=self._parts(i),
                why=self._why(i, stored),
                keyphrases=top(stored.keyphrases),
            )

    def _why(self, i: int, stored: EncodedPaper) -> Why:
        found = self.found
        return explain(
            self.query,
            stored,
            found.terms,
            found.contributions[i],
            self.matches,
            i,
            tokens=found.tokens,
            keyphrases=found.keyphrases,
        )

    def _parts(self, i: int) -> dict[str, float]:
        parts = {"dense": self.found.dense[i], "sparse": self.found.sparse[i], "fused": self.fused[i]}
        if self.sparse == "both":
            parts |= taken_apart(self.found.contributions[i], len(self.found.terms))
        if self.matches is not None:
            parts["rerank"] = self.matches.similarity[i]
        return {name: float(part) for name, part in parts.items()}


def search(store: Store, query: EncodedQuery, options: SearchOptions) -> list[Hit]:
    """The k best papers for the query with reasons, or every paper of `options.scope.ids` when the scope names some."""
    return list(ranking(store, query, options).hits())


def ranking(store: Store, query: EncodedQuery, options: SearchOptions) -> Ranking:
    """The same without reasons, which take longer than the search itself where many papers are wanted.

    With `options.from_` the k that follow on so many better ones. Pages are parts of one ranking as long as they lie
    within the candidates of a channel; behind them every further page asks for more, which may come in anywhere.
    """
    check_model(store, query)
    query = weighed(query, options)
    last = options.from_ + options.k
    proposing = channels(query, options, store.channels)
    ids = store.candidates(query, proposing, max(last, options.candidates), options.scope)
    found = store.complete(query, ids, options.sparse, sentences=options.rerank != "none")
    fused = fuse(found.dense, found.sparse, options.lambda_ if options.sparse else 1.0)
    matches = compare_sentences(query, found, options)
    scores = fused if matches is None else blend(fused, matches.similarity, rerank_weight(query, options))
    order = rank(scores, found.ids)[options.from_ : last if options.scope.ids is None else None]
    return Ranking(query, found, fused, matches, scores, order, options.from_, options.sparse)


def check_model(store: Store, query: EncodedQuery) -> None:
    """Vectors of two models cannot be compared: refuse instead of answering with noise."""
    stored = store.model  # read once: it is a query to the store
    if stored is None:
        raise StoreError("the store is empty: `sciret ingest` fills it")
    if stored != query.model:
        raise WrongModelError("the store", stored, query.model)


def weighed(query: EncodedQuery, options: SearchOptions) -> EncodedQuery:
    """With the β that was asked for. A paper as the query has more features than a text: the heaviest are enough."""
    beta = query.beta if options.beta is None else options.beta
    if query.like is None:
        return replace(query, beta=beta)
    tokens, keyphrases = limit(query.tokens, query.keyphrases, beta, MOST)
    return replace(query, tokens=tokens, keyphrases=keyphrases, beta=beta)


def channels(query: EncodedQuery, options: SearchOptions, available: Sequence[Channel]) -> list[Channel]:
    """Who proposes candidates. A side without weight proposes nothing; aspects are proposed by single sentences too.

    Where the store cannot search for single sentences, what the others propose is reranked by sentences all the same.
    """
    sparse = shares(options.sparse)
    if "casper" in sparse and "casper" not in available:
        raise QueryError(
            "the papers of this store have no learned sparse features, since the model that it was filled by gives "
            "none: search with --sparse bm25, or ingest into a new store with a model that `sciret models` lists with "
            "tokens"
        )
    chosen: list[Channel] = []
    if options.lambda_ < 1:
        chosen.extend(sparse)
    if options.lambda_ > 0 or options.sparse is None:
        if query.dense is None and options.sparse is not None:
            raise QueryError("the model of this store gives no document vectors: search with --lambda 0")
        chosen.append("dense")
    if query.aspect and options.rerank != "none":
        chosen.append("sentence")
    return [channel for channel in chosen if channel in available]


def best_sparse(available: Sequence[Channel]) -> Sparse:
    """Which sparse side to search with where nothing else is asked for; docs/defaults.md compares them."""
    return "both" if "casper" in available else "bm25"


def compare_sentences(query: EncodedQuery, found: Completed, options: SearchOptions) -> SentenceMatches | None:
    if options.rerank == "none" or query.sentence_vectors is None or not found.ids:
        return None
    # A typed text is an aspect too: a paper need not answer it with every sentence. And attention that hot would be
    # no attention at all, but the mean.
    whole = query.like is not None and not query.aspect and options.rerank == "transport"
    tau = WHOLE_TAU if whole else ASPECT_TAU
    return match(query.sentence_vectors, found.sentence_vectors, options.rerank, tau=tau)


def rerank_weight(query: EncodedQuery, options: SearchOptions) -> float:
    """Chosen sentences are what an aspect query is about; the rest of the paper only helps to tell equals apart."""
    return options.aspect_weight if query.aspect else options.rerank_weight
