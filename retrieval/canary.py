"""Canaries: questions asked of two versions of a store, to see before a swap whether the answers are still good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sciret.errors import StoreError
from sciret.retrieval.queries import QueryEncoder, Question, ask
from sciret.retrieval.search import SearchOptions
from sciret.store import Store

DEPTH = 10


@dataclass(frozen=True, slots=True)
class Side:
    """A version, and the encoder for its model."""

    store: Store
    encoder: QueryEncoder

    def answer(self, question: Question, options: SearchOptions) -> Sequence[str]:
        return [paper_id for paper_id, _ in ask(question, self.encoder, self.store, options).scored_ids()]


@dataclass(frozen=True, slots=True)
class Canary:
    """One question and both answers, best first."""

    question: Question
    old: Sequence[str]
    new: Sequence[str]

    @property
    def overlap(self) -> float:
        """Share of papers that both have."""
        longest = max(len(self.old), len(self.new))
        return len(set(self.old) & set(self.new)) / longest if longest else 1.0


@dataclass(frozen=True, slots=True)
class CanaryReport:
    canaries: tuple[Canary, ...]
    titles: bool
    """The questions are titles, and a question's id is the id of the paper that it should find."""

    @property
    def overlap(self) -> float:
        """On average."""
        return sum(canary.overlap for canary in self.canaries) / len(self.canaries)

    @property
    def found(self) -> tuple[float, float] | None:
        """Share of titles that find their paper, in the old version and in the new one."""
        if not self.titles:
            return None
        old = sum(canary.question.id in canary.old for canary in self.canaries)
        new = sum(canary.question.id in canary.new for canary in self.canaries)
        return old / len(self.canaries), new / len(self.canaries)

    def worst(self, count: int) -> Sequence[Canary]:
        return sorted(self.canaries, key=lambda canary: canary.overlap)[:count]

    def check(self, least_overlap: float, most_lost: float) -> None:
        """Refuse a version whose answers are too different, or that finds fewer papers by their titles."""
        if self.overlap < least_overlap:
            worst = self.worst(1)[0].question
            raise StoreError(
                f"the two versions agree on {self.overlap:.0%} of the first {DEPTH} papers, less than "
                f"{least_overlap:.0%} (least on {worst.text or worst.like!r}): nothing was swapped, the old one goes "
                f"on serving. Look at the new one, then lower --min-overlap or remove it: sciret index delete next"
            )
        if self.found and self.found[1] < self.found[0] - most_lost:
            raise StoreError(
                f"of papers searched for by their titles the old version finds {self.found[0]:.0%} and the new one "
                f"{self.found[1]:.0%}: nothing was swapped, the old one goes on serving. `sciret index delete next` "
                f"removes the new one"
            )


def compare(
    questions: Iterable[Question], old: Side, new: Side, options: SearchOptions, *, titles: bool
) -> CanaryReport:
    """Every question is asked of both, over papers of all kinds of access."""
    asked = replace(options, k=DEPTH, scope=replace(options.scope, restricted=True))
    canaries = tuple(Canary(each, old.answer(each, asked), new.answer(each, asked)) for each in questions)
    if not canaries:
        raise StoreError("there is no canary to ask: give --canary a file with questions")
    return CanaryReport(canaries, titles)
