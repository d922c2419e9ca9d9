"""Documents become lines that any JSON reader takes, or are refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciret.connector.ndjson import UnwritableError, body, index_entry

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.lists(st.tuples(st.text(min_size=1), st.dictionaries(st.text(), JSON)), max_size=4))
def test_every_document_is_two_lines(documents: list[tuple[str, dict[str, Any]]]) -> None:
    """Whatever line separators its texts hold."""
    lines = body(index_entry(name, source) for name, source in documents).split(b"\n")
    assert lines.pop() == b""
    read = [json.loads(line) for line in lines]
    assert read[::2] == [{"index": {"_id": name}} for name, _ in documents]
    assert read[1::2] == [source for _, source in documents]


@pytest.mark.parametrize("source", [{"title": "a\ud800b"}, {"\udfff": 1}, {"deep": [{"x": ["\udc80"]}]}])
def test_a_lone_surrogate_is_named(source: dict[str, Any]) -> None:
    """Wherever it stands; there are no bytes for it."""
    with pytest.raises(UnwritableError, match=r"lone surrogate \(U\+D"):
        index_entry("p1", source)


def test_a_lone_surrogate_in_the_id_is_named() -> None:
    """The id is text as well."""
    with pytest.raises(UnwritableError, match="lone surrogate"):
        index_entry("p\ud800", {})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_named(number: float) -> None:
    """JSON has none, and what Python would write is refused by the server with all its neighbours."""
    with pytest.raises(UnwritableError, match="not finite"):
        index_entry("p1", {"dense": [0.5, number]})


def test_a_document_without_an_id_is_refused() -> None:
    """The server would make one up, and another at each resend."""
    with pytest.raises(UnwritableError, match="without an id"):
        index_entry("", {"title": "a"})
