"""Habits of words: verbs, nouns and adjectives told apart by what stands around them."""

from __future__ import annotations

import pytest

from sciret.paper import Paper
from sciret.training.phrase_grams import CUT, NO_END, NO_UNIGRAM, habit_flags
from sciret.training.word_habits import WordHabits

TEXT = """
We encode the signal. They encode a code. To encode it, the neural code of the neuron is read. We can encode it.
The neural network of each neuron, and a neural response of the neuron; this neural code. It may encode these.
A neural basis for the code. The neural state and the code, of a neuron or its code. To encode a neural signal.
"""


@pytest.fixture
def habits() -> WordHabits:
    learned = WordHabits()
    learned.learn([Paper(str(n), "Codes", TEXT) for n in range(4)])
    return learned


def test_verbs_are_told_from_nouns(habits: WordHabits) -> None:
    assert (habits.verb_share("encode"), habits.verb_share("code")) == (1.0, 0.0)
    assert habit_flags("encode", habits) & CUT
    assert not habit_flags("code", habits) & CUT


def test_adjectives_are_told_from_nouns(habits: WordHabits) -> None:
    """By how seldom they end a run of words."""
    assert habits.end_share("neural") == 0.0
    assert (habits.end_share("neuron") or 0) > 0.9
    assert habit_flags("neural", habits) & NO_END
    assert habit_flags("Neural", habits) & NO_UNIGRAM
    assert not habit_flags("neuron", habits) & (NO_END | NO_UNIGRAM)


def test_rare_words_are_judged_by_their_endings(habits: WordHabits) -> None:
    assert habits.verb_share("unheard") is None
    assert habits.end_share("unheard") is None
    assert habit_flags("unheardical", habits) & NO_END
    assert not habit_flags("hospital", habits) & NO_END


def test_cohesion_is_of_neighbours(habits: WordHabits) -> None:
    """Words that always stand together against words that meet by chance."""
    together = habits.cohesion(["neural", "network"], 1.0)
    assert together > habits.cohesion(["neural", "code"], 0.05) > -1
    assert habits.cohesion(["unseen", "words"], 1.0) > together
    assert habits.cohesion(["single"], 1.0) == 1.0
    assert WordHabits().cohesion(["two", "words"], 1.0) == 1.0
