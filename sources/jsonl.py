"""JSON Lines: one record a line. Also the way back in for a rejects file, which is JSON Lines with marks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from sciret.errors import RecordError
from sciret.sources.fields import kind
from sciret.sources.limits import JSON_DEPTH, LINE_BYTES
from sciret.sources.record import Record
from sciret.sources.rejects import RawText, not_utf8, refuse_raw, refuse_whole
from sciret.sources.stream import Line

_TO_LINES = "jq -c '.[]' for a list, jq -c . for objects over several lines"


def read(lines: Iterable[Line], source: str) -> Iterator[Record | RecordError]:
    first = True
    for line in lines:
        data = line.data.strip()
        if not data:
            continue
        where = f"{source}:{line.number}"
        if first and data in (b"[", b"{", b"[{"):
            reason = f"JSON over several lines, not one record a line; convert the file: {_TO_LINES}"
            yield refuse_whole(where, reason, data)
            return
        first = False
        yield _record(where, data) if line.whole else refuse_whole(where, _too_long(), data)


def _too_long() -> str:
    return f"the line is longer than {LINE_BYTES // 2**20} MiB; is it one record a line? Convert the file: {_TO_LINES}"


def _record(where: str, data: bytes) -> Record | RecordError:
    try:
        value = _DECODER.decode(data.decode("utf-8"))
        if _depth_exceeds(value, JSON_DEPTH):
            raise RecursionError
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
        return refuse_raw(where, not_utf8(text), RawText(text, "jsonl"))
    except RecursionError:
        reason = f"JSON nested deeper than {JSON_DEPTH} levels; flatten it"
    except json.JSONDecodeError as error:
        reason = f"broken JSON at character {error.pos + 1}: {error.msg}; correct the line"
    except ValueError as error:
        reason = f"{error}; correct the line"
    else:
        if isinstance(value, dict):
            return Record(where, value)
        reason = f"JSON that is {kind(value)}, not an object; a record is {{...}} ({_TO_LINES})"
    return refuse_raw(where, reason, RawText(data.decode("utf-8"), "jsonl"))


def _depth_exceeds(value: Any, limit: int) -> bool:
    """Without recursion, and looking at containers only: it runs for every record."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit + 1):
        level = [
            item
            for parent in level
            for item in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True


def _constant(name: str) -> float:
    raise ValueError(f"JSON has no {name}")


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:40]} is too large")
    return number


_DECODER = json.JSONDecoder(parse_constant=_constant, parse_float=_float)
