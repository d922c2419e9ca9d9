"""Abbreviations that a text defines: `optimal transport (OT)` makes every later OT an optimal transport.

The rule is Schwartz and Hearst's (2003): the abbreviation's letters are looked for from right to left in the words
before the parenthesis, and the first letter must begin a word. It needs no training and misses little in abstracts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_SHORT = re.compile(r"\s?\(\s?([A-Za-z0-9][A-Za-z0-9-]{0,10}?)(s?)\s?\)")
_MARKS = ".;:()[]|"
_REACH = 160
"""Characters before the bracket in which the long form is looked for."""
_WORD = re.compile(r"[^\s]+")


class Definition(NamedTuple):
    """`text[start:end]` is the long form, `text[end:close]` the parenthesis."""

    short: str
    start: int
    end: int
    close: int


def definitions(text: str) -> Iterator[Definition]:
    """In the order of the text."""
    if "(" not in text:
        return
    for found in _SHORT.finditer(text):
        short = found[1]
        if len(short) < 2 or not any(c.isupper() for c in short):
            continue
        start = _long_form(text, found.start(), short)
        if start is not None:
            yield Definition(short, start, found.start(), found.end())


def _long_form(text: str, end: int, short: str) -> int | None:
    """Where the words begin whose letters the abbreviation is made of; None when there are none."""
    letters = [c.lower() for c in short if c.isalnum()]
    reach = max(0, end - _REACH)
    reach = max(reach, *(text.rfind(mark, reach, end) + 1 for mark in _MARKS))
    words = list(_WORD.finditer(text, reach, end))
    words = words[-min(len(letters) + 5, 2 * len(letters)) :]
    if not words:
        return None
    first, place = words[0].start(), end - 1
    for rank in range(len(letters) - 1, -1, -1):
        while place >= first and not (text[place].lower() == letters[rank] and (rank or _begins(text, place, first))):
            place -= 1
        if place < first:
            return None
        place -= 1
    start = place + 1
    longer = end - start > len(short) + 1
    return start if longer and short.lower() not in text[start:end].lower().split() else None


def _begins(text: str, place: int, first: int) -> bool:
    return place == first or not text[place - 1].isalnum()
