"""What a bulk request's answer says about each of its documents. Pure: status, headers and text in, verdicts out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sciret.connector.backoff import RETRYABLE, retry_after_seconds

Verdict = Literal["items", "split", "again", "stop"]
"""Look at the items; send smaller parts; send the same again; nothing of this kind will be taken."""

_NOT_THE_DOCUMENT = frozenset((401, 403, 404))
"""Of an item: no right to write, a blocked index, no index. Every other document would meet the same."""
_MISSING = "document_missing_exception"
_SPLIT = frozenset((400, 413))
"""Too much in one request, or one document that spoils it for all (an id that is too long)."""
FILTER = "errors,items.*.status,items.*.error"
"""The part of the answer that is read here."""


@dataclass(frozen=True, slots=True)
class Item:
    """One document's part of the answer."""

    status: int
    reason: str = ""
    failed: bool = False
    """Whether there is an error."""

    @property
    def acknowledged(self) -> bool:
        return 200 <= self.status < 300

    @property
    def absent(self) -> bool:
        """There was nothing to delete or to update. A missing index has the same status, and another error."""
        return self.status == 404 and (not self.failed or self.reason.startswith(_MISSING))

    @property
    def again(self) -> bool:
        return self.status in RETRYABLE

    @property
    def refused(self) -> bool:
        """For what the document is: it would be refused again."""
        return not self.acknowledged and not self.again and self.status not in _NOT_THE_DOCUMENT


@dataclass(frozen=True, slots=True)
class Answer:
    verdict: Verdict
    status: int | None = None
    """None where no answer came, or none that can be read."""
    reason: str = ""
    items: tuple[Item, ...] = ()
    retry_after: float | None = None


def no_answer(reason: str) -> Answer:
    return Answer("again", None, reason)


def read_answer(status: int, headers: Mapping[str, str], text: str, documents: int) -> Answer:
    """An answer that does not speak of all the documents is as good as none: they are sent again."""
    if not 200 <= status < 300:
        return _refusal(status, headers, text)
    try:
        content = json.loads(text)
        items = tuple(_item(each) for each in content["items"])
    except (ValueError, LookupError, TypeError, AttributeError):
        return no_answer(f"an answer that is not a bulk answer: {_beginning(text)}")
    if len(items) != documents:
        return no_answer(f"an answer about {len(items)} of {documents} documents")
    return Answer("items", status, items=items)


def _refusal(status: int, headers: Mapping[str, str], text: str) -> Answer:
    reason = f"HTTP {status}: {_whole_reason(text)}"
    if status in RETRYABLE:
        after = next((value for name, value in headers.items() if name.lower() == "retry-after"), None)
        return Answer("again", status, reason, retry_after=retry_after_seconds(after))
    return Answer("split" if status in _SPLIT else "stop", status, reason)


def _item(item: Mapping[str, Any]) -> Item:
    (result,) = item.values()
    return Item(int(result["status"]), _reason(result.get("error")), "error" in result)


def _whole_reason(text: str) -> str:
    try:
        error = json.loads(text)["error"]
    except (ValueError, LookupError, TypeError):
        return _beginning(text)
    return _reason(error)


def _reason(error: Any) -> str:
    """The error and what caused it, as `type: reason`, from the outside in."""
    parts: list[str] = []
    while isinstance(error, Mapping):
        part = f"{error.get('type')}: {error.get('reason')}"
        if part not in parts:
            parts.append(part)
        error = error.get("caused_by")
    return " <- ".join(parts) if parts else _beginning(str(error or ""))


def _beginning(text: str) -> str:
    return " ".join(text.split())[:200] or "without a reason"


def reasons(items: Sequence[Item]) -> str:
    """One of the reasons why items are sent again."""
    return next((f"HTTP {item.status}: {item.reason}" for item in items if item.again), "")
