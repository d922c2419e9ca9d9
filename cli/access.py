"""Papers that are not open: what is derived from their text is kept from those who did not ask for it."""

from __future__ import annotations

from sciret.encoded import EncodedPaper
from sciret.errors import QueryError
from sciret.store import Store


def require_open(store: Store, paper_id: str, *, restricted: bool) -> EncodedPaper:
    """The stored paper, or an error that says why there is none to show."""
    stored = store.get([paper_id]).get(paper_id)
    if stored is None:
        raise QueryError(f"no paper {paper_id!r} in the store; `sciret search` shows the ids of what it has")
    if not restricted and not stored.paper.is_searchable():
        until = f" until {stored.paper.embargo_end}" if stored.paper.embargo_end else ""
        raise QueryError(f"paper {paper_id!r} is not open ({stored.paper.access}{until}): give --access all to use it")
    return stored
