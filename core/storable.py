"""What every store asks of a paper before it keeps it, and what it compares instead of a text."""

from __future__ import annotations

from collections.abc import Iterable

from sciret.encoded import EncodedPaper
from sciret.errors import StoreError

HEAVIEST = 3.4028234e38
"""The largest weight of a feature: float32's largest number."""


def check(encoded: EncodedPaper) -> None:
    """Refuse a paper that no store could give back as it is."""
    paper = encoded.paper
    if not is_id(paper.id):
        raise StoreError(f"paper id {paper.id!r}: an id is text that is not empty and has no NUL or lone surrogate")
    if encoded.sentence_vectors is not None and len(encoded.sentence_vectors) != len(encoded.sentences):
        raise StoreError(
            f"paper {paper.id!r}: {len(encoded.sentence_vectors)} sentence vectors for {len(encoded.sentences)} "
            f"sentences; encode it again"
        )
    for name, weight in (*encoded.tokens.items(), *encoded.keyphrases.items()):
        if not 0 <= weight <= HEAVIEST:  # NaN is not either
            raise StoreError(f"paper {paper.id!r}: the feature {name[:40]!r} weighs {weight}; encode it again")


def checked_json(text: str, paper_id: str) -> str:
    """The JSON of a paper, refused where a letter of it is only half there."""
    if not is_unicode(text):
        raise StoreError(f"paper {paper_id!r}: a lone surrogate in its text; mend or leave out the record")
    return text


def dims_of(encoded: Iterable[EncodedPaper], known: int | None) -> int | None:
    """The one length that all vectors share, `known` if the store has some already."""
    for paper in encoded:
        for matrix in (paper.dense, paper.sentence_vectors):
            if matrix is None:
                continue
            known = known or matrix.shape[-1]
            if matrix.shape[-1] != known:
                raise StoreError(
                    f"paper {paper.paper.id!r}: a vector of {matrix.shape[-1]} numbers where the store has {known}; "
                    f"ingest into a new store"
                )
    return known


def is_id(text: str) -> bool:
    """SQLite could not tell an id with a NUL from its beginning, and nobody can store a lone surrogate."""
    return bool(text) and "\0" not in text and is_unicode(text)


def is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def fold(value: str) -> str:
    """What is compared instead of a text, so that case does not matter."""
    return value.casefold()
