"""Which papers a search may return, on any Store: conditions, access, chosen ids."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from operator import eq, ge, gt, le, lt, ne
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.errors import QueryError
from sciret.paper import Paper
from sciret.store import LISTS, NUMBERS, TEXTS, Channel, Condition, Op, Scope, Store

CHANNELS: tuple[Channel, ...] = get_args(Channel)
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"=": eq, "!=": ne, ">=": ge, "<=": le, ">": gt, "<": lt}
QUERY = EncodedQuery("anything", "m")

# What breaks naive filters: quotes, wildcards, separators, case pairs that are not one to one, an empty string.
AWKWARD = st.sampled_from(
    [
        "",
        "'",
        '"',
        "%",
        "_",
        "a%",
        "a_",
        "\\",
        '","',
        "\n",
        "a\nb",
        "', 1) --",
        "Straße",
        "STRASSE",
        "İ",
        "ǅ",
        "数学",
        "a",
    ]
)
VALUES = AWKWARD | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def admits(condition: Condition, paper: Paper) -> bool:
    """The meaning of a condition, in plain Python."""
    stored, value = getattr(paper, condition.field), condition.value
    compare = OPERATORS[condition.op]
    if condition.field in NUMBERS:
        return compare(stored, value) if condition.op in ("=", "!=") else stored is not None and compare(stored, value)
    assert isinstance(value, str)
    if condition.field in LISTS:
        has = value.casefold() in [item.casefold() for item in stored] if value else not stored
        return has == (condition.op == "=")
    text = (stored or "").casefold()
    return compare(text, value.casefold()) and (condition.op in ("=", "!=") or bool(text))


def found(store: Store, *where: Condition, restricted: bool = True) -> set[str]:
    """Ids that the scope admits, asked for both as a search and as given candidates."""
    ids = tuple(f"p{number}" for number in range(50))
    scope = Scope(where=where, restricted=restricted)
    searched = set(store.candidates(QUERY, ["bm25"], 50, scope))
    assert set(store.candidates(QUERY, ["bm25"], 50, Scope(where, ids, restricted))) == searched
    return searched


def write(store: Store, *papers: Paper) -> None:
    store.write([EncodedPaper(paper, "m", sentences=(paper.title,)) for paper in papers])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("year=2001", {"p1"}),
        ("year!=2001", {"p0", "p2"}),
        ("year>=2001", {"p1"}),
        ("year<2001", {"p0"}),
        ("venue=nature", {"p0", "p1"}),
        ("venue!=NATURE", {"p2"}),
        ("venue=", {"p2"}),
        ("venue<z", {"p0", "p1"}),
        ("authors=åsa öberg", {"p0"}),
        ("authors=Åsa", set()),
        ("authors!=Åsa Öberg", {"p1", "p2"}),
        ("keywords=a, b", {"p1"}),
        ("keywords=a", {"p0"}),
        ("references=", {"p0", "p1", "p2"}),
        ("date>=2001-05", {"p1"}),
        ("source=STRASSE", {"p2"}),
        ("id=P2", {"p2"}),
        ("title=ANYTHING goes", {"p0"}),
    ],
)
def test_conditions_mean_what_they_say(store: Store, condition: str, expected: set[str]) -> None:
    write(
        store,
        Paper("p0", "Anything goes", authors=("Åsa Öberg", "B"), year=1999, venue="Nature", keywords=("a", "b")),
        Paper("p1", "Anything else", year=2001, date="2001-05-02", venue="NATURE", keywords=("a, b",)),
        Paper("p2", "Anything", source="Straße"),
    )
    assert found(store, Condition.parse(condition)) == expected


def test_all_conditions_must_hold(store: Store) -> None:
    write(store, Paper("p0", "anything", year=2000, type="thesis"), Paper("p1", "anything", year=2000, type="article"))
    conditions = [Condition.parse("year=2000"), Condition.parse("type=Thesis")]
    assert found(store, *conditions) == {"p0"}


def test_filters_narrow_before_the_k_best_are_taken(store: Store, make: Any) -> None:
    """A paper that meets the conditions is found however many better ones do not meet them."""
    store.write([make.paper(f"p{i}", year=2020 if i == 33 else 1990) for i in range(60)])
    query = make.query("neurology photology thermology")
    for channel in CHANNELS:
        scope = Scope(where=(Condition.parse("year>2000"),))
        assert list(store.candidates(query, [channel], 1, scope)) == ["p33"]


def test_only_open_papers_are_found_unless_asked_otherwise(store: Store) -> None:
    accesses = ["open", "embargoed", "restricted", "metadata_only"]
    write(store, *(Paper(f"p{i}", "anything", access=access) for i, access in enumerate(accesses)))  # type: ignore[arg-type]
    assert found(store, restricted=False) == {"p0"}
    assert found(store, restricted=True) == {"p0", "p1", "p2", "p3"}


def test_an_embargo_ends_by_itself(place: Any, store: Store) -> None:
    """On its last day the paper is hidden, on the day it ends it is found, with nothing written in between."""
    write(
        store,
        Paper("p0", "anything", access="embargoed", embargo_end="2024-07-01"),
        Paper("p1", "anything", access="embargoed"),
        Paper("p2", "anything", access="restricted", embargo_end="2000-01-01"),
    )
    for day, expected in ((date(2024, 6, 30), set()), (date(2024, 7, 1), {"p0"}), (date(2024, 6, 30), set())):
        place.today = day
        assert found(store, restricted=False) == expected
        assert store.stats()["searchable"] == len(expected)


def test_access_that_changes_is_seen_at_once(store: Store) -> None:
    write(store, Paper("p0", "anything"), Paper("p1", "anything"))
    assert found(store, restricted=False) == {"p0", "p1"}
    write(store, Paper("p0", "anything", access="restricted"))
    assert found(store, restricted=False) == {"p1"}


def test_chosen_ids_are_all_returned_in_their_order(store: Store) -> None:
    """However little they have to do with the query; unknown and hidden ones are left out, doubles count once."""
    write(store, Paper("p0", "x"), Paper("p1", "y"), Paper("p2", "z", access="restricted"))
    assert tuple(store.candidates(QUERY, ["bm25"], 1, Scope(ids=("p1", "nobody", "p2", "p0", "p1")))) == ("p1", "p0")
    assert tuple(store.candidates(QUERY, ["bm25"], 1, Scope(ids=()))) == ()


@pytest.mark.parametrize(
    "condition",
    [
        Condition("year; DROP TABLE papers", "=", "1"),
        Condition("year", "LIKE", 1),  # type: ignore[arg-type]
        Condition("year", "=", "1999"),
        Condition("venue", "=", 1999),
        Condition("authors", ">", "a"),
        Condition("venue", "=", "\ud800"),
    ],
)
def test_conditions_that_were_never_parsed_are_refused(store: Store, condition: Condition) -> None:
    """Names and operators are looked up, never pasted into a query."""
    write(store, Paper("p0", "anything"))
    with pytest.raises(QueryError, match="filter"):
        store.candidates(QUERY, ["bm25"], 5, Scope(where=(condition,)))


def test_filters_agree_with_their_meaning_on_any_text(store: Store, examples: Callable[[int], settings]) -> None:
    """Quotes, wildcards, line breaks, odd case pairs: the store and plain Python admit the same papers."""

    @examples(120)
    @given(
        field=st.sampled_from((*TEXTS, *LISTS, *NUMBERS)),
        op=st.sampled_from(get_args(Op)),
        value=VALUES,
        stored=st.lists(VALUES, min_size=1, max_size=4),
        years=st.lists(st.none() | st.integers(1990, 1993), min_size=1, max_size=4),
    )
    def check(field: str, op: Op, value: str, stored: list[str], years: list[int | None]) -> None:
        if field in NUMBERS:
            condition = Condition(field, op, 1991)
            papers = [Paper(f"p{i}", "anything", year=year) for i, year in enumerate(years)]
        elif field in LISTS:
            condition = Condition(field, "=" if op == "=" else "!=", value)
            kept = tuple(text for text in stored if text)
            papers = [Paper("p0", "anything", **{field: kept}), Paper("p1", "anything", **{field: (value or "x",)})]  # type: ignore[arg-type]
        else:
            condition = Condition(field, op, value)
            papers = [_with(f"p{i}", field, text) for i, text in enumerate([*stored, value])]
        write(store, *papers)
        assert found(store, condition) == {p.id for p in papers if admits(condition, p)}
        store.delete([paper.id for paper in papers])

    check()


def _with(paper_id: str, field: str, text: str) -> Paper:
    """Ids, titles and access have rules of their own: they keep what a paper needs."""
    if field in ("id", "access"):
        return Paper(paper_id, "anything")
    if field == "title":
        return Paper(paper_id, f"anything {text}")
    return Paper(paper_id, "anything", **{field: text or None})  # type: ignore[arg-type]
