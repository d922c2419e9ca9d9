"""False negatives: near-duplicates, co-citations and shared keyphrases."""

from __future__ import annotations

import random

from sciret.paper import Paper
from sciret.training.paper_facts import ALIKE, PaperFacts, signature


def words(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [f"word{chance.randrange(10**6)}" for _ in range(count)]


def test_signatures_estimate_the_share_of_common_words() -> None:
    """Within what 32 hashes can tell."""
    for common in (0, 30, 60, 90, 100):
        estimates = []
        for seed in range(30):
            shared, one, other = words(common, seed), words(100 - common, seed + 100), words(100 - common, seed + 200)
            a, b = signature([*shared, *one]), signature([*shared, *other])
            estimates.append(float((a == b).mean()))
        true = common / (200 - common)
        assert abs(sum(estimates) / len(estimates) - true) < 0.06


def facts_of(*papers: Paper) -> PaperFacts:
    facts = PaperFacts()
    assert tuple(facts.watch(papers)) == papers
    return facts


def test_a_second_version_is_the_same_paper() -> None:
    """By its title in another spelling, or by its words."""
    text = " ".join(words(100, 1))
    facts = facts_of(
        Paper("a", "The Effect of Sleep", text),
        Paper("b", "the effects of sleep", " ".join(words(100, 2))),
        Paper("c", "Another title entirely", text + " and some more words at the end"),
        Paper("d", "Unrelated", " ".join(words(100, 3))),
    )
    assert facts.is_false_negative("b", "a")
    assert facts.is_false_negative("c", "a")
    assert not facts.is_false_negative("d", "a")
    assert 0.5 < ALIKE < 0.9


def test_keyphrases_in_common_count_when_they_are_rare() -> None:
    """Two of them; `mouse`, which most papers have, is none."""
    others = [Paper(f"o{n}", f"title {n}", " ".join(words(30, n)), keywords=("Mouse",)) for n in range(30)]
    facts = facts_of(
        Paper("a", "A", "x1", keywords=("mouse", "sleep spindle", "replay")),
        Paper("b", "B", "x2", keywords=("Mouse", "Sleep spindles", "Replay")),
        Paper("c", "C", "x3", keywords=("mouse", "replay")),
        *others,
    )
    assert facts.is_false_negative("b", "a")
    assert not facts.is_false_negative("c", "a")


def test_papers_cited_together() -> None:
    facts = facts_of(Paper("a", "First", "x"), Paper("b", "Second", "y"), Paper("c", "Third", "z"))
    facts.cited_together("a", "b")
    assert facts.is_false_negative("a", "b")
    assert facts.is_false_negative("b", "a")
    assert not facts.is_false_negative("c", "a")


def test_nothing_is_known_of_a_paper_that_is_not_there() -> None:
    facts = facts_of(Paper("a", "First"))
    assert not facts.is_false_negative("missing", "a")
    assert not facts.has_keyphrases("missing", [1])
