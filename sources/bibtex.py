"""BibTeX: the citation key is the id. Each entry is parsed by bibtexparser's grammar on its own."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from sciret.errors import RecordError
from sciret.sources.bibtex_entries import Entry, split
from sciret.sources.latex import to_unicode, unescaped
from sciret.sources.limits import BLOCK_CHARS, MACROS
from sciret.sources.record import Record
from sciret.sources.rejects import RawText, is_not_utf8, not_utf8, refuse_raw, refuse_whole
from sciret.sources.stream import Line

_FIELDS = {
    # In the order of preference where two names mean one field; the other one goes into `extra`.
    **{name: name for name in ("title", "abstract", "year", "date", "doi", "url", "language", "keywords")},
    "keyword": "keywords",
    "langid": "language",
    "journal": "venue",
    "journaltitle": "venue",
    "booktitle": "venue",
}
_VERBATIM = ("doi", "url", "file", "eprint")
_WORD = re.compile(r"[\w:-]+")
_AND = re.compile(" and ", re.IGNORECASE)
_COMMA = re.compile(",")


class _EntryError(ValueError):
    """An entry that the grammar, or what it refers to, does not allow."""


def read(lines: Iterable[Line], source: str) -> Iterator[Record | RecordError]:
    grammar = _Grammar()
    for entry in split(lines):
        if entry.kind in ("comment", "preamble"):
            continue
        where = f"{source}:{entry.number}"
        try:
            found = _parsed(entry, grammar)
        except _EntryError as error:
            yield _refused(where, f"not a BibTeX entry: {error}", entry, grammar)
        else:
            if found:
                yield Record(where, found)


def _refused(where: str, reason: str, entry: Entry, grammar: _Grammar) -> RecordError:
    if not entry.whole:
        return refuse_whole(where, reason, entry.text[:1000].encode("utf-8", "surrogateescape"))
    return refuse_raw(where, reason, RawText(entry.text, "bibtex", grammar.definitions(entry.text)))


def _parsed(entry: Entry, grammar: _Grammar) -> dict[str, Any] | None:
    if is_not_utf8(entry.text):
        raise _EntryError(not_utf8(entry.text))
    if entry.fault:
        raise _EntryError(entry.fault)
    if entry.kind == "string":
        grammar.define(entry.text)
        return None
    key, fields = grammar.entry(entry.text)
    return _record(key, entry.kind, fields)


def _record(key: str, kind: str, fields: dict[str, str]) -> dict[str, Any]:
    record: dict[str, Any] = {"id": key, "type": kind}
    if "author" in fields:
        record["authors"] = [_name(author) for author in _split_names(fields.pop("author"))]
    for name, field in _FIELDS.items():
        if field not in record and fields.get(name, "").strip():
            record[field] = _plain(name, fields.pop(name))
    if "keywords" in record:
        record["keywords"] = re.split("[,;]", record["keywords"])
    if "date" in record:
        record["date"] = record["date"].split("/")[0]  # biblatex writes ranges as begin/end
    extra = {name: _plain(name, value) for name, value in fields.items() if value.strip()}
    return {**record, "extra": extra} if extra else record


def _plain(name: str, value: str) -> str:
    return unescaped(value) if name in _VERBATIM else to_unicode(value)


def _split_names(value: str) -> list[str]:
    """At every `and` that is not in braces; `others` stands for nobody in particular."""
    names = _outside_braces(_AND, " ".join(value.split()))
    return [name for name in names if name.strip() not in ("", "others")]


def _outside_braces(separator: re.Pattern[str], value: str) -> list[str]:
    parts, start, looked, depth = [], 0, 0, 0
    for match in separator.finditer(value):
        depth += value.count("{", looked, match.start()) - value.count("}", looked, match.start())
        looked = match.start()
        if depth == 0:
            parts.append(value[start : match.start()])
            start = match.end()
    return [*parts, value[start:]]


def _name(name: str) -> str:
    """`Family, Given` and `Family, Jr, Given` to the order in which it is said."""
    family, *others = (to_unicode(part).strip() for part in _outside_braces(_COMMA, name))
    given, suffix = (others[-1] if others else ""), " ".join(others[:-1])
    return " ".join(part for part in (given, family, suffix) if part)


class _Grammar:
    """bibtexparser's grammar, with the @string definitions met so far."""

    def __init__(self) -> None:
        from bibtexparser.bibdatabase import COMMON_STRINGS, BibDataString, BibDataStringExpression
        from bibtexparser.bibtexexpression import BibtexExpression

        with warnings.catch_warnings():
            # Under python -W, pyparsing remarks on how the grammar names its parts.
            warnings.simplefilter("ignore")
            self._grammar = BibtexExpression()
        self._grammar.set_string_name_parse_action(lambda _text, _at, tokens: BibDataString(None, tokens[0]))
        self._macro = BibDataString
        self._expression = BibDataStringExpression
        self._months = COMMON_STRINGS
        self._strings: dict[str, str] = {}

    def entry(self, text: str) -> tuple[str, dict[str, str]]:
        """Citation key, and field to value with its macros expanded."""
        parsed = self._parse(self._grammar.entry, text)
        return parsed.get("Key"), {name.lower(): self._expanded(v) for name, v in parsed.get("Fields").items()}

    def define(self, text: str) -> None:
        if len(self._strings) >= MACROS:
            raise _EntryError(f"more than {MACROS:,} @string definitions; write the values into the entries")
        parsed = self._parse(self._grammar.string_def, text)
        self._strings[parsed["StringName"].name] = self._expanded(parsed["StringValue"])

    def definitions(self, text: str) -> str:
        """The @string definitions that a text may refer to."""
        used = sorted({word.lower() for word in _WORD.findall(text)} & self._strings.keys())
        return "".join(f"@string{{{name} = {{{self._strings[name]}}}}}\n" for name in used)

    def _parse(self, part: Any, text: str) -> Any:
        try:
            return part.parse_string(text, parse_all=True)
        except self._grammar.ParseException as error:
            raise _EntryError(f"{_short(error)} in its line {error.lineno}, column {error.column}") from None
        except RecursionError:
            raise _EntryError("its braces are nested too deeply") from None

    def _expanded(self, value: Any) -> str:
        """Length is counted before anything is joined: definitions that double each other grow without end."""
        parts = value.expr if isinstance(value, self._expression) else [value]
        texts = [self._value(part) for part in parts]
        if sum(map(len, texts)) > BLOCK_CHARS:
            raise _EntryError(f"with its @string definitions it is longer than {BLOCK_CHARS:,} characters")
        return "".join(texts)

    def _value(self, part: Any) -> str:
        if not isinstance(part, self._macro):
            return str(part)
        found = self._strings.get(part.name, self._months.get(part.name))
        if found is None:
            raise _EntryError(f"{part.name!r} is not defined; add @string{{{part.name} = {{...}}}} or put it in braces")
        return str(found)


def _short(error: Any) -> str:
    """pyparsing writes out whole alternatives of its grammar where none of them fits."""
    return str(error.msg) if len(error.msg) < 60 else "a value in braces, in quotes or in digits is missing"
