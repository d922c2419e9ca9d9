"""One value of a foreign record to one value of a Paper: types, lengths, forbidden characters, normal forms."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import date as calendar_date
from datetime import datetime
from typing import Any

from sciret.paper import ACCESS, Access
from sciret.sources.limits import INTEGERS, LIST_ITEMS, TEXT_CHARS, YEARS

_SPECIAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_YEAR = re.compile(r"([0-9]{1,9})(\.0)?")  # tables written by pandas turn whole columns of years into 2020.0
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?", re.ASCII)
_RESOLVER = re.compile(r"^(?:(?:https?://)?(?:www\.|dx\.)?doi\.org/|doi:)\s*", re.IGNORECASE)
_SEPARATOR = re.compile(r"[;|]")
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}
_KINDS: Mapping[type, str] = {bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}


class FieldError(ValueError):
    """A value that cannot be taken; the message names the field, what is wrong and the remedy."""


def check_characters(name: str, value: str) -> None:
    """Refuse what no store can keep: NUL ends strings in half the software there is, surrogates are not text."""
    if "\x00" in value:
        raise FieldError(f"{name} holds a NUL character; remove it")
    if surrogate := _SURROGATE.search(value):
        code = f"\\u{ord(surrogate[0]):04x}"
        raise FieldError(f"{name} holds a lone surrogate ({code}): half of a character; replace or remove it")


def text(name: str, value: Any, limit: int = TEXT_CHARS) -> str:
    """NFC, control characters and runs of whitespace to one space, none at the ends."""
    if not isinstance(value, str):
        raise FieldError(f"{name} must be text, not {kind(value)}")
    found: str = value
    if _SPECIAL.search(found):
        check_characters(name, found)
        found = _SPECIAL.sub(" ", found)
    if not found.isascii():
        found = unicodedata.normalize("NFC", found)
    found = " ".join(found.split())
    if len(found) > limit:
        raise FieldError(f"{name} has {len(found):,} characters, the limit is {limit:,}; shorten it")
    return found


def identifier(name: str, value: Any, limit: int = TEXT_CHARS) -> str:
    """Text, or a whole number as databases hand them out."""
    return str(value) if type(value) is int and value in INTEGERS else text(name, value, limit)


def visible(value: str) -> bool:
    """Whether a reader sees anything: zero-width characters alone are as blank as spaces."""
    return any(unicodedata.category(character)[0] not in "ZC" for character in value)


def texts(name: str, value: Any) -> tuple[str, ...]:
    """A list of texts, or one text with `;` or `|` between its parts. Blank items are left out."""
    if isinstance(value, str):
        value = _SEPARATOR.split(value)
    cleaned = (text(f"{name}[{i}]", item) for i, item in enumerate(items(name, value)) if item is not None)
    return tuple(item for item in cleaned if item)


def keywords(value: Any) -> tuple[str, ...]:
    """As `texts`; a text without `;` and `|` is split at its commas."""
    if isinstance(value, str) and not _SEPARATOR.search(value):
        value = value.split(",")
    return texts("keywords", value)


def references(value: Any) -> tuple[str, ...]:
    """As `texts`; ids may be numbers here as they may in `id`."""
    if isinstance(value, list):
        value = [str(item) if type(item) is int else item for item in value]
    return texts("references", value)


def authors(value: Any) -> tuple[str, ...]:
    """As `texts`; in a list an author may be `{"name"}` or `{"given", "family"}`."""
    if isinstance(value, list):
        value = [_author(i, item) if isinstance(item, Mapping) else item for i, item in enumerate(value)]
    return texts("authors", value)


def _author(position: int, person: Mapping[str, Any]) -> str:
    parts = [person["name"]] if person.get("name") else [person.get("given"), person.get("family")]
    given = [text(f"authors[{position}]", part) for part in parts if part]
    if not any(given):
        raise FieldError(f'authors[{position}] is an object without "name" or "family"; give one of them')
    return " ".join(given)


def items(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise FieldError(f"{name} must be a list of texts, not {kind(value)}")
    if len(value) > LIST_ITEMS:
        raise FieldError(f"{name} has {len(value):,} items, the limit is {LIST_ITEMS:,}; shorten it")
    return list(value)


def year(value: Any) -> int | None:
    """A whole number, or its digits; None for a blank text."""
    if isinstance(value, str) and not value.strip():
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    digits = _YEAR.fullmatch(value.strip()) if isinstance(value, str) else None
    number = int(digits[1]) if digits else value
    if type(number) is not int:
        raise FieldError(f"year must be a year in digits, not {shown(value)}")
    if number not in YEARS:
        raise FieldError(f"year {shown(value)} is not between {YEARS[0]} and {YEARS[-1]}; correct or remove it")
    return number


def date(name: str, value: Any, *, whole: bool = False) -> str | None:
    """ISO 8601 and a day that exists; a time of day is cut off. `whole` asks for year, month and day."""
    given = text(name, value)
    if not given:
        return None
    try:
        return _iso(given, whole)
    except ValueError:
        form = "YYYY-MM-DD" if whole else "YYYY, YYYY-MM or YYYY-MM-DD"
        span = f"from {YEARS[0]} to {YEARS[-1]}"
        raise FieldError(f"{name} {shown(given)} is not a date {span} that exists; write it as {form}") from None


def _iso(given: str, whole: bool) -> str:
    match = _DATE.fullmatch(given)
    if match and (match[3] or not whole):
        day = calendar_date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    elif "T" in given:
        day = datetime.fromisoformat(given).date()
    else:
        raise ValueError(given)
    if day.year not in YEARS:
        raise ValueError(given)
    return given if match else day.isoformat()


def doi(value: Any) -> str | None:
    return bare_doi(text("doi", value)) or None


def bare_doi(value: str) -> str:
    """Without resolver, in lower case: DOIs do not distinguish case."""
    return _RESOLVER.sub("", value.strip()).lower()


def access(value: Any) -> Access:
    given = text("access", value).lower()
    for known in ACCESS:
        if given == known:
            return known
    raise FieldError(f"access {shown(value)} is not one of {', '.join(ACCESS)}")


def flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    known = _FLAGS.get(str(value).strip().lower()) if isinstance(value, str | int) else None
    if known is None:
        raise FieldError(f"{name} must be true or false, not {shown(value)}")
    return known


def kind(value: Any) -> str:
    """What a JSON value is, in words."""
    return _KINDS.get(type(value), "null" if value is None else "text")


def shown(value: Any) -> str:
    """A value for a message: texts and numbers as they are, cut; the rest by kind."""
    if isinstance(value, str):
        return repr(value[:40]) + ("…" if len(value) > 40 else "")
    if type(value) in (int, float) and abs(value) < 1e18:
        return str(value)
    return kind(value)
