"""Words that say nothing about a paper's subject, in three strengths: written by hand, by looking at what came out.

A run of words ends at a word of CUTTING. A word of WEAK may stand inside a phrase, but not beside such words and COMMON
ones alone: `loss function` is a phrase, `experimental result` and `model type` are none. A word of COMMON is no phrase
by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def _parts(path: Path) -> Mapping[str, tuple[str, ...]]:
    """Words by the heading they stand under."""
    parts: dict[str, list[str]] = {}
    words: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            words = parts.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            words += line.split()
    return {name: tuple(words) for name, words in parts.items()}


def _forms(verb: str) -> set[str]:
    """-s, -ed and -ing of a regular verb by the rules of spelling, also with a doubled consonant, as a few have it."""
    if verb.endswith("e"):
        return {verb, verb + "s", verb + "d", verb[:-1] + "ing"}
    if verb.endswith("y") and verb[-2] not in "aeou":
        return {verb, verb[:-1] + "ies", verb[:-1] + "ied", verb + "ing"}
    end = "es" if verb.endswith(("s", "x", "ch", "sh")) else "s"
    return {verb, verb + end, verb + "ed", verb + "ing", verb + verb[-1] + "ed", verb + verb[-1] + "ing"}


_PARTS = _parts(Path(__file__).with_name("generic_words.txt"))
_VERBS = {form for verb in _PARTS["verbs"] for form in _forms(verb)} | set(_PARTS["verb forms"])

FUNCTION = frozenset(_PARTS["function"])
CUTTING = FUNCTION | (_VERBS - set(_PARTS["nouns too"])) | set(_PARTS["cutting"])
WEAK = frozenset(_PARTS["weak"])
COMMON = frozenset(_PARTS["common"])
HEADS = frozenset(_PARTS["heads"])
"""No phrase ends with these, unless an author says so: a `graph partitioning approach` is about graph partitioning."""
SPLITTING = frozenset(_PARTS["splitting"])
"""Cut even behind a hyphen: what is `transformer-based` is about transformers."""
COMPOUNDS = frozenset(_PARTS["compounds"])
"""Cut like single words of CUTTING."""
PHRASES = frozenset(phrase.replace("-", " ") for phrase in _PARTS["phrases"])
"""Terms by every count, and still no subject of a paper."""
ADJECTIVE_ENDS = _PARTS["adjective endings"]
"""Endings of words that no phrase ends with, but for the nouns below."""
NOUNS_LIKE_ADJECTIVES = frozenset(_PARTS["nouns like adjectives"])
NOUNS_LIKE_ADVERBS = frozenset(_PARTS["nouns like adverbs"])
NOUNS_LIKE_PARTICIPLES = frozenset(_PARTS["nouns like participles"])
