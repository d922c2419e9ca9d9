"""`--where`: what is understood, and that everything else is a QueryError that says what is expected."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciret.errors import QueryError
from sciret.store import LISTS, NUMBERS, TEXTS, Condition

FIELDS = (*NUMBERS, *TEXTS, *LISTS)
OPS = ("=", "!=", ">=", "<=", ">", "<")
NEARLY = st.builds(
    "".join, st.lists(st.sampled_from(FIELDS) | st.sampled_from(OPS) | st.text(max_size=4) | st.integers().map(str))
)
"""Pieces of conditions in any order: likelier to get past the first check than any text."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("year=2015", Condition("year", "=", 2015)),
        ("year>=2015", Condition("year", ">=", 2015)),
        (" year <= 2015 ", Condition("year", "<=", 2015)),
        ("year!=0", Condition("year", "!=", 0)),
        ("year>-44", Condition("year", ">", -44)),
        ("venue=Journal of Tests", Condition("venue", "=", "Journal of Tests")),
        ("venue = Nature ", Condition("venue", "=", "Nature")),
        ("venue=", Condition("venue", "=", "")),
        ("url=http://x/?a=b&c>=d", Condition("url", "=", "http://x/?a=b&c>=d")),
        ("date<2019-07", Condition("date", "<", "2019-07")),
        ("authors=Doe, Jane", Condition("authors", "=", "Doe, Jane")),
        ("keywords!=graph\nneural", Condition("keywords", "!=", "graph\nneural")),
        ("doi==10.1/x", Condition("doi", "=", "=10.1/x")),
    ],
)
def test_conditions_are_understood(text: str, expected: Condition) -> None:
    """White space around the parts does not count; the first operator divides, the rest is the value."""
    parsed = Condition.parse(text)
    assert parsed == expected
    assert type(parsed.value) is type(expected.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected FIELD=VALUE"),
        ("year", "expected FIELD=VALUE"),
        ("=2015", "expected FIELD=VALUE"),
        ("Year=2015", "expected FIELD=VALUE"),
        ("year~2015", "expected FIELD=VALUE"),
        ("year=", "year is compared with a whole number"),
        ("year=2015.0", "year is compared with a whole number"),
        ("year==2015", "year is compared with a whole number"),
        ("year>=12345678901234567890", "year is compared with a whole number"),
        ("abstract=x", "no field 'abstract'; there are year, id, title"),
        ("author=Doe", "no field 'author'; .*authors"),
        ("keywords>=x", "keywords holds several values: only = and != apply"),
    ],
)
def test_anything_else_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason) as caught:
        Condition.parse(text)
    assert str(caught.value).startswith(f"--where {text!r}: ")


@settings(deadline=None)
@given(st.text() | NEARLY)
def test_no_text_breaks_the_parser(text: str) -> None:
    """It is a condition on a field there is, with a value of the field's kind, or a QueryError; never anything else."""
    try:
        condition = Condition.parse(text)
    except QueryError:
        return
    assert condition.field in FIELDS
    assert condition.op in (OPS[:2] if condition.field in LISTS else OPS)
    assert isinstance(condition.value, int if condition.field in NUMBERS else str)


@settings(deadline=None)
@given(st.sampled_from(TEXTS), st.sampled_from(OPS), st.text(st.characters(exclude_characters="=")).map(str.strip))
def test_what_is_written_plainly_is_read_so(field: str, op: str, value: str) -> None:
    """Whatever the value holds, but for an equals sign that would lengthen the operator."""
    condition = Condition.parse(f"{field}{op}{value}")
    assert (condition.field, condition.op, condition.value) == (field, op, value)
