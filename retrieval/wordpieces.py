"""Wordpieces back to the words that they are parts of, as a text writes them: what to show people instead of `##ase`.

A tokenizer cuts a word from the left into the longest pieces that it knows. Of all its pieces only those are known here
that the query or the paper has a weight for. Where these are enough to cut up a word, they cut it as the tokenizer did,
since a longer piece that it would have taken instead is not a piece of the word at all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain

INNER = "##"
"""How WordPiece marks a piece that no word begins with."""
LONGEST = 100
"""Letters of a word; longer ones are unknown to WordPiece as a whole."""
_WORD = re.compile(r"[^\W_]+")


def written_words(pieces: Iterable[str], known: Collection[str], *texts: str) -> dict[str, str]:
    """Each piece with the first word that it is part of; one that is part of none stays as it is."""
    words = {word: _folded(word) for word in dict.fromkeys(chain.from_iterable(map(_WORD.findall, texts)))}
    whole: dict[str, str] = {}
    parts: dict[str, str] = {}
    for word, folded in words.items():
        for form in dict.fromkeys((word, folded)):
            whole.setdefault(form, word)
            for piece in _cut(form, known):
                parts.setdefault(piece, word)
    return {piece: whole.get(piece) or parts.get(piece) or _somewhere(piece, words) for piece in pieces}


def _cut(word: str, known: Collection[str]) -> list[str]:
    """From the left into the longest known pieces; nothing where they are not enough."""
    if len(word) > LONGEST:
        return []
    found: list[str] = []
    start = 0
    while start < len(word):
        mark = INNER if start else ""
        end = next((end for end in range(len(word), start, -1) if mark + word[start:end] in known), None)
        if end is None:
            return []
        found.append(mark + word[start:end])
        start = end
    return found


def weight_of(word: str, weights: Mapping[str, float]) -> float:
    """Of the heaviest of its pieces; 0 for a word that cannot be cut into those that have a weight."""
    forms = dict.fromkeys((word, _folded(word)))
    return max((weights[piece] for form in forms for piece in _cut(form, weights)), default=0.0)


def _somewhere(piece: str, words: dict[str, str]) -> str:
    """A piece that no word could be cut into: the first word that ends in it or has it inside."""
    if not piece.startswith(INNER):
        return piece  # a word by itself that neither text has: the model found it fitting
    letters = piece.removeprefix(INNER)
    return next(_having(letters, words), f"…{letters}")


def _having(letters: str, words: dict[str, str]) -> Iterator[str]:
    yield from (word for word, folded in words.items() if folded.endswith(letters) and folded != letters)
    yield from (word for word, folded in words.items() if letters in folded[1:])


def _folded(word: str) -> str:
    """As models without case read it."""
    apart = unicodedata.normalize("NFD", word.lower())
    return "".join(letter for letter in apart if unicodedata.category(letter) != "Mn")
