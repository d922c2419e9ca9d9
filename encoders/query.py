"""A paper as the query: the whole of it, or some of its sentences in the context of the whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.errors import QueryError

ASPECTS: Mapping[str, tuple[str, ...]] = {
    "background": ("background", "objective"),
    "method": ("method",),
    "result": ("result",),
}
"""Sentence roles that make up each aspect a user can ask for."""


def paper_as_query(paper: EncodedPaper, sentences: Sequence[int] = (), roles: Collection[str] = ()) -> EncodedQuery:
    """Sentences are chosen by 1-based numbers or by role; with neither, the whole paper is the query.

    Chosen sentences keep the vectors they have in the whole paper, and the document vector stays the paper's.
    """
    if sentences and roles:
        raise QueryError(f"paper {paper.paper.id!r}: choose sentences by number or by aspect, not by both")
    chosen = _by_role(paper, roles) if roles else _by_number(paper, sentences)
    rows = chosen or list(range(len(paper.sentences)))
    vectors = paper.sentence_vectors
    texts = tuple(paper.sentences[i] for i in rows)
    return EncodedQuery(
        text=" ".join(texts) if chosen else paper.paper.text,
        model=paper.model,
        dense=paper.dense,
        sentences=texts,
        sentence_vectors=None if vectors is None else vectors[rows],
        tokens=paper.tokens,
        keyphrases=paper.keyphrases,
        like=paper.paper.id,
        chosen=tuple(i + 1 for i in chosen),
    )


def _by_number(paper: EncodedPaper, numbers: Sequence[int]) -> list[int]:
    """0-based, each once, in the paper's order."""
    count = len(paper.sentences)
    for number in numbers:
        if not 1 <= number <= count:
            raise QueryError(f"paper {paper.paper.id!r} has no sentence {number}: its sentences are 1 to {count}")
    return sorted({number - 1 for number in numbers})


def _by_role(paper: EncodedPaper, roles: Collection[str]) -> list[int]:
    if not paper.roles:
        raise QueryError(
            f"paper {paper.paper.id!r} has no sentence roles, because the model it was encoded by has no role "
            f"classifier; choose sentences by number"
        )
    chosen = [i for i, role in enumerate(paper.roles) if role in roles]
    if not chosen:
        found = ", ".join(sorted(set(paper.roles)))
        raise QueryError(f"paper {paper.paper.id!r} has no sentence of the role {' or '.join(roles)}; it has {found}")
    return chosen
