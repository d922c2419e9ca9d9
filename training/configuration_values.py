"""Values of a configuration as TOML and `NAME=VALUE` give them, and as fields have them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from sciret.errors import SettingsError


def read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: {error}") from error


def put(given: dict[str, Any], name: str, value: Any) -> None:
    """`weights.title=0` goes into a table."""
    table, dot, key = name.partition(".")
    if dot:
        given[table] = {**given.get(table, {}), key: value}
    else:
        given[name] = value


def parsed(text: str) -> Any:
    """As TOML has it; what is no TOML value is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def typed(name: str, value: Any, kind: Any) -> Any:
    """Of the field's type, or refused: an integer is a float too, a list is a tuple."""
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise SettingsError(f"{name} {value!r}: there are {', '.join(get_args(kind))}")
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind == tuple[str, ...] and isinstance(value, list | tuple):
        return tuple(map(str, value))
    if kind == Mapping[str, float]:
        if isinstance(value, Mapping):
            return {str(key): typed(f"{name}.{key}", each, float) for key, each in value.items()}
    elif isinstance(kind, type) and isinstance(value, kind) and (kind is bool) == isinstance(value, bool):
        return value
    expected = getattr(kind, "__name__", str(kind))
    raise SettingsError(f"{name} must be of type {expected}, not {value!r}")
