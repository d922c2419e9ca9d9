"""Paper: one bibliographic record, the only thing that readers yield and stores keep."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

Access = Literal["open", "embargoed", "restricted", "metadata_only"]
ACCESS: tuple[Access, ...] = get_args(Access)


@dataclass(frozen=True, slots=True)
class Paper:
    """Only id and title are required: title-only records are first-class."""

    id: str
    title: str
    abstract: str = ""
    sentences: tuple[str, ...] = ()
    """The abstract's sentences where the source gave them one by one; they are kept as given, never split again."""
    authors: tuple[str, ...] = ()
    year: int | None = None
    date: str | None = None
    """ISO 8601, as precise as the source was: `2019`, `2019-07` or `2019-07-31`."""
    keywords: tuple[str, ...] = ()
    venue: str | None = None
    doi: str | None = None
    url: str | None = None
    language: str | None = None
    type: str | None = None
    collections: tuple[str, ...] = ()
    source: str | None = None
    access: Access = "open"
    embargo_end: str | None = None
    """ISO date of the first day on which an embargoed paper is open."""
    deleted: bool = False
    references: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the source that have no place above, as JSON values."""

    @property
    def text(self) -> str:
        """What lexical channels index: title and abstract."""
        return f"{self.title}\n{self.abstract}" if self.abstract else self.title

    @property
    def content_hash(self) -> str:
        """Equal for two records exactly when nothing about them differs; lets a re-ingest skip what it knows."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=True).encode()).hexdigest()

    def is_searchable(self, today: datetime.date | None = None) -> bool:
        """Open, or embargoed until a day that has come. What is derived from a text inherits its access."""
        if self.access == "embargoed" and self.embargo_end:
            return self.embargo_end <= (today or datetime.date.today()).isoformat()
        return self.access == "open"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, without the fields that hold nothing; `Paper.from_dict` is the way back."""
        values = ((f.name, getattr(self, f.name)) for f in fields(self))
        # `is`, since 0 == False and a year of 0 is a year
        return {name: value for name, value in values if value is not False and value not in (None, "", (), {})}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Paper:
        """From `to_dict`'s output, also after a trip through JSON. Readers of foreign data use `sciret.sources`."""
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in record.items()}
        return cls(**values)
