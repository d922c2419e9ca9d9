"""What is decided before mining: caps, splits, and queries that are held out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciret.training.mined_examples import Example
from sciret.training.mining_survey import Survey, even_shares, pair_of, same_query


@given(st.dictionaries(st.text("abc", min_size=1, max_size=2), st.integers(0, 50), max_size=5), st.integers(0, 120))
def test_a_cap_is_shared_evenly(sizes: dict[str, int], cap: int) -> None:
    """All of it is given out while there is something, and nobody gives more than another that still has."""
    shares = even_shares(sizes, cap)
    assert all(shares[name] <= sizes[name] for name in sizes)
    assert sum(shares.values()) == min(cap, sum(sizes.values())) or len(sizes) == 0
    most = max(shares.values(), default=0)
    assert all(share >= most - 1 or share == sizes[name] for name, share in shares.items())


def test_without_a_cap_everything_is_taken() -> None:
    assert even_shares({"a": 3, "b": 5}, None) == {"a": 3, "b": 5}


def examples(count: int) -> list[Example]:
    return [Example("contexts", f"query number {n} of many", f"p{n}", f"c{n // 3}") for n in range(count)]


def test_as_many_are_taken_as_the_cap_says_whatever_their_order() -> None:
    surveys = []
    for order in (examples(500), examples(500)[::-1]):
        survey = Survey(seed=3, dev_share=0.1)
        survey.look_at("contexts", order, 100)
        surveys.append({example.positive for example in order if survey.takes(example)})
    assert len(surveys[0]) == 100
    assert surveys[0] == surveys[1]


def test_the_share_of_dev_is_about_what_was_asked_for() -> None:
    survey = Survey(seed=0, dev_share=0.2)
    splits = [survey.split_of(f"paper {n}") for n in range(2000)]
    assert 0.17 < splits.count("dev") / len(splits) < 0.23


def test_a_query_of_dev_leaks_into_no_other_split() -> None:
    """Also when another paper asks it in other words' forms."""
    survey = Survey(seed=0, dev_share=0.5)
    found = examples(40)
    survey.look_at("contexts", found, None)
    held = next(example for example in found if survey.split(example) == "dev")
    again = Example("titles", held.query.upper() + "!", "p", "somebody")
    assert survey.leaks(again, "train")
    assert not survey.leaks(held, "dev")


def test_a_pair_cited_in_both_splits_is_in_none() -> None:
    survey = Survey(seed=0, dev_share=0.5)
    found = examples(40)
    survey.look_at("contexts", found, None)
    dev = next(example.query for example in found if survey.split(example) == "dev")
    train = next(example.query for example in found if survey.split(example) == "train")
    example = Example("cocitations", "a title", "b", dev, ("a",))
    survey.cited_together("a", "b", dev)
    assert survey.split(example) == "dev"
    survey.cited_together("b", "a", train)
    assert survey.split(example) == ""


@pytest.mark.parametrize("name", ["text", "query"])
def test_queries_of_a_test_set_are_excluded(tmp_path: Path, name: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(f'{{"id": "1", "{name}": "How do Cells divide?"}}\n', encoding="utf-8")
    survey = Survey(seed=0, dev_share=0.0)
    survey.exclude([str(path)])
    assert survey.leaks(Example("titles", "how do cells divide", "p", "o"), "dev")


def test_pairs_have_no_direction() -> None:
    assert pair_of("b", "a") == pair_of("a", "b")
    assert same_query("A graph of Models") == same_query("a graph, of model")


def test_draws_do_not_depend_on_the_process() -> None:
    """Python's own hash of a text would."""
    assert same_query("a fixed query") == 475194611895838168
