"""Attachment: what a store remembers of the index that its papers come from, and how far it has followed it.

It is kept in the store's own index (`_meta`), not in a file: any machine can go on, and an index that is deleted, or
swapped for an older version, takes with it what is no longer true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from urllib.parse import quote

from sciret.connector.client import Client
from sciret.connector.failures import MissingIndexError

SEQ_NO = "_seq_no"
"""The server's own numbers of writes, which every index has."""
_ROOM, _KEY = "sciret", "attached"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far changes were followed by one field."""

    since: int | None = None
    """Everything up to this value has been read; None before the first pass is done."""
    until: int | None = None
    """What `since` will be when the pass under way is done; None when none is."""
    positions: Mapping[str, int] = field(default_factory=dict)
    """`_seq_no` by part, up to which documents have been settled: by `_seq_no` for good, otherwise in this pass."""
    reached: int | None = None
    """When (milliseconds since 1970) a pass began that was the first to come this far; not used for dates."""
    sure: bool = False
    """A later pass has found nothing new, so nothing from before is on its way any more; not used for dates."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Attachment:
    """Where papers come from, and which of its fields they are made of."""

    source: str
    """The address of the existing index."""
    fields: Mapping[str, str]
    title_from_abstract: bool = False
    progress: Mapping[str, Progress] = field(default_factory=dict)
    """By the field that changes are followed by."""

    def by(self, name: str) -> Progress:
        return self.progress.get(name, Progress())

    def advanced(self, name: str, progress: Progress) -> Attachment:
        return replace(self, progress={**self.progress, name: progress})

    def means_the_same(self, other: Attachment) -> bool:
        """Whether papers are made of the same fields in the same way."""
        mine = (dict(self.fields), self.title_from_abstract)
        return mine == (dict(other.fields), other.title_from_abstract)

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "fields": dict(self.fields),
            "title_from_abstract": self.title_from_abstract,
            "progress": {name: progress.to_dict() for name, progress in self.progress.items()},
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Attachment:
        progress = {name: Progress(**each) for name, each in content.get("progress", {}).items()}
        return cls(content["source"], content["fields"], bool(content.get("title_from_abstract")), progress)


def load_attachment(client: Client) -> Attachment | None:
    """Of the store that a client is connected to; None where there is none, or no index yet."""
    found = _meta(client)
    content = (found[1].get(_ROOM) or {}).get(_KEY) if found else None
    return Attachment.from_dict(content) if content else None


def save_attachment(client: Client, attachment: Attachment) -> None:
    """`_meta` is replaced as a whole: it is read anew, since others keep things there too."""
    found = _meta(client)
    if found is None:
        return  # nothing was written, so there is nothing to go on from
    index, meta = found
    content = attachment.to_dict()
    room = meta.get(_ROOM) or {}
    if room.get(_KEY) != content:
        body = {"_meta": {**meta, _ROOM: {**room, _KEY: content}}}
        client.call("PUT", f"/{quote(index)}/_mapping", body)


def _meta(client: Client) -> tuple[str, Mapping[str, Any]] | None:
    try:
        found = client.call("GET", f"/{client.path}/_mapping")
    except MissingIndexError:
        return None
    (index, body), *_ = found.items()
    return index, body["mappings"].get("_meta") or {}
