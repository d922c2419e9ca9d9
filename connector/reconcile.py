"""Papers whose document is gone: an index tells what was written, never what was deleted, so both are compared."""

from __future__ import annotations

from collections.abc import Sequence

from sciret.connector.changes import Changes, count
from sciret.connector.client import Client
from sciret.errors import StoreError
from sciret.store import Store

BATCH = 1000
_HITS = 10_000
"""More than ids: of the indices behind an alias several may have the same one."""


def reconcile(source: Client, target: Client, index: str, store: Store, *, most_percent: float) -> int:
    """Delete them; how many. Refused before anything is deleted where they are more than a share of all papers."""
    total = count(target, index)
    allowed = int(total * most_percent / 100)
    gone: list[str] = []
    for page in Changes(target, index):
        gone += absent(source, page)
        if len(gone) > allowed:
            raise StoreError(
                f"{len(gone):,} or more of the {total:,} papers of {target.address} have no document in "
                f"{source.address.alias} any more: that is over {most_percent:g} %, and nothing was deleted. Look at "
                f"the index; if they are to go, run it again with --max-deletions 100"
            )
    deleted = 0
    for start in range(0, len(gone), BATCH):
        # Asked again: a document may have come back since.
        deleted += store.delete(absent(source, gone[start : start + BATCH]))
    return deleted


def absent(source: Client, ids: Sequence[str]) -> list[str]:
    """Those that the index does not have, as its alias shows it. An index that answers by half is an error."""
    found: set[str] = set()
    options = {"allow_partial_search_results": "false", "preference": "_primary"}
    for start in range(0, len(ids), BATCH):
        wanted = {"ids": {"values": list(ids[start : start + BATCH])}}
        body = {"query": wanted, "size": _HITS, "_source": False, "track_total_hits": False, "sort": ["_doc"]}
        answer = source.call("POST", f"/{source.path}/_search", body, params=options)
        found |= {hit["_id"] for hit in answer["hits"]["hits"]}
    return [each for each in ids if each not in found]
