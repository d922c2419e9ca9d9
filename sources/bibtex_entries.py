"""A BibTeX file cut into its entries, as a stream: one broken entry must not swallow the ones after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sciret.sources.limits import BLOCK_CHARS
from sciret.sources.stream import Line

_START = re.compile(r"[ \t]*@[ \t]*([A-Za-z]+)[ \t]*([{(])")
_STRAY = re.compile(r"[ \t]*@[ \t]*([A-Za-z]*)")
_BRACES = re.compile(r"[{}]")
_BRACES_AND_END = re.compile(r"[{})]")


@dataclass(slots=True)
class Entry:
    """From its `@` to the brace that closes it. `fault` says why it cannot be an entry."""

    number: int
    kind: str
    closer: str = ""
    fault: str | None = None
    closed: bool = False
    whole: bool = True
    """Whether all of its text was kept."""
    _parts: list[str] = field(default_factory=list)
    _after: list[str] = field(default_factory=list)
    _depth: int = 0
    _size: int = 0

    @property
    def text(self) -> str:
        """With what follows a brace that closed too early, so that it can be corrected."""
        return "".join([*self._parts, *self._after] if self.fault else self._parts)

    def take(self, text: str, start: int) -> int:
        """Add what belongs to the entry from here on; where it ends."""
        pattern = _BRACES if self.closer == "}" else _BRACES_AND_END
        for brace in pattern.finditer(text, start):
            outermost = self._depth == (1 if self.closer == "}" else 0)
            if brace[0] == self.closer and outermost:
                self.closed = True
                self._depth = 0
                self._keep(self._parts, text[start : brace.end()])
                return brace.end()
            self._depth += {"{": 1, "}": -1, ")": 0}[brace[0]]
        self._keep(self._parts, text[start:])
        return len(text)

    def follow(self, text: str) -> None:
        """Text after the entry is a comment, unless it closes braces that nobody opened: then the entry lost a part."""
        for brace in _BRACES.finditer(text):
            self._depth += 1 if brace[0] == "{" else -1
            if self._depth < 0 and not self.fault:
                self.fault = "it has a closing brace too many, or lacks an opening one"
        self._keep(self._after, text)

    def _keep(self, parts: list[str], text: str) -> None:
        self._size += len(text)
        if self._size <= BLOCK_CHARS:
            parts.append(text)
        elif parts is self._parts:
            self.overflow()

    def overflow(self) -> None:
        self.whole = False
        self.fault = f"it is longer than {BLOCK_CHARS:,} characters; shorten it"


def split(lines: Iterable[Line]) -> Iterator[Entry]:
    """An `@name{` at the start of a line, or right after an entry, begins an entry whatever came before."""
    entry: Entry | None = None
    for line in lines:
        text, at = line.text, 0
        while at < len(text):
            if started := _started(line.number, text, at, entry):
                if entry:
                    yield _ended(entry, f"the next entry begins in line {line.number}")
                entry = started
            if entry is None:
                break
            if not line.whole:
                entry.overflow()
            if entry.closed:
                entry.follow(text[at:])
                break
            at = entry.take(text, at)
    if entry:
        yield _ended(entry, "the file ends")


def _started(number: int, text: str, at: int, current: Entry | None) -> Entry | None:
    if start := _START.match(text, at):
        return Entry(number, start[1].lower(), closer="}" if start[2] == "{" else ")")
    stray = _STRAY.match(text, at)
    if not stray or (current and not current.closed):
        return None
    kind = stray[1].lower()  # "@comment" is one with and without braces
    fault = None if kind == "comment" else "it begins with @ but not like an entry, @article{key, ...}"
    return Entry(number, kind, fault=fault, closed=True)


def _ended(entry: Entry, before: str) -> Entry:
    if not entry.closed and not entry.fault:
        entry.fault = f"it is not closed before {before}; are its braces balanced?"
    return entry
