"""Words of a text as the lexical channels index them: folded, without English stop words, stemmed.

The steps are those that a search server can repeat with its own parts (lower case, ASCII folding, possessives,
Lucene's English stop words, Porter's stemmer), so that a word counts the same whichever store is behind a search.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from threading import Lock
from typing import Any

_STOPS = """
a an and are as at be but by for if in into is it no not of on or such
that the their then there these they this to was will with
"""
STOP_WORDS = frozenset(_STOPS.split())

# Apostrophes and dots stay inside a word: don't, 0.05, u.s. Longer runs are data, cut where Lucene cuts them.
_WORD = re.compile(r"[^\W_]{1,255}(?:['.][^\W_]{1,255})*")
_ACCENTS = re.compile("[\u0300-\u036f]")
# Latin letters that have no decomposition into a base letter and an accent, and the typographic apostrophe.
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ı": "i", "’": "'"}
)
_STEMMING = Lock()  # a Stemmer must not be used by two threads at once


def count_terms(text: str) -> Counter[str]:
    """Each term of a text with how often it occurs, in order of first appearance."""
    terms = Counter(map(_term, _WORD.findall(fold(text))))
    terms.pop("", None)
    return terms


def surface_words(text: str) -> dict[str, str]:
    """Each term of a text as it is first written there: what to show people instead of a stem."""
    written: dict[str, str] = {}
    for word in _WORD.findall(text.replace("’", "'")):
        written.setdefault(stem(word), word)
    written.pop("", None)
    return written


def stem(word: str) -> str:
    """The term that one word counts as; nothing for a stop word."""
    return _term(fold(word))


def fold(text: str) -> str:
    """Lower case, compatibility forms and accents resolved: `Ångström ﬁlm` and `angstrom film` become equal."""
    if text.isascii():
        return text.lower()
    unaccented = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", unaccented).lower().translate(_LETTERS)


@lru_cache(maxsize=1 << 17)
def _term(word: str) -> str:
    """The indexed form of one word, or nothing. Remembered, because most words of a text were met before."""
    word = word.removesuffix("'s")
    if word in STOP_WORDS:
        return ""
    with _STEMMING:
        return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("porter", 0)  # it need not remember what `_term` remembers
