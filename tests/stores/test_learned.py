"""The learned sparse channel and the keyphrases that papers are filtered by, on any Store."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.errors import StoreError
from sciret.paper import Paper
from sciret.store import Condition, Scope, Store


def paper(paper_id: str, tokens: dict[str, float], keyphrases: dict[str, float], **fields: Any) -> EncodedPaper:
    return EncodedPaper(
        Paper(paper_id, "title", **fields), "m", sentences=("title",), tokens=tokens, keyphrases=keyphrases
    )


def query(tokens: dict[str, float], keyphrases: dict[str, float], **parts: Any) -> EncodedQuery:
    return EncodedQuery("unheard", "m", tokens=tokens, keyphrases=keyphrases, **parts)


def candidates(store: Store, asked: EncodedQuery, k: int = 10, scope: Scope | None = None) -> list[str]:
    return list(store.candidates(asked, ["casper"], k, scope or Scope()))


def test_the_channel_is_there_when_papers_have_features(place: Any) -> None:
    """And not in a store whose model gives none; it is found out again by who opens it later."""
    store = place.open("first")
    assert "casper" not in store.channels
    store.write([EncodedPaper(Paper("p0", "title"), "m", sentences=("title",))])
    assert "casper" not in store.channels
    assert candidates(store, query({"title": 1.0}, {})) == []
    assert store.complete(query({"title": 1.0}, {}), ["p0"], "casper", sentences=False).sparse.tolist() == [0.0]
    store.write([paper("p1", {"title": 1.0}, {})])
    assert "casper" in store.channels
    assert "casper" in place.open("first").channels
    other = place.open("second")
    other.write([paper("p1", {}, {"only a keyphrase": 1.0})])
    assert "casper" in other.channels


def test_a_store_that_was_emptied_takes_a_model_without_features(store: Store) -> None:
    store.write([paper("p0", {"a": 1.0}, {})])
    store.delete(["p0"])
    store.write([EncodedPaper(Paper("p1", "title"), "other", sentences=("title",))])
    assert "casper" not in store.channels


def test_a_text_is_one_to_itself(store: Store) -> None:
    """Whatever its weights: that is the scale which the other side of a fusion has too."""
    tokens, keyphrases = {"cell": 2.0, "##ase": 0.5}, {"stem cell": 7.0, "v. 2.0": 0.1}
    store.write([paper("p0", tokens, keyphrases), paper("p1", {"cell": 1.0}, {}), paper("p2", {"dog": 1.0}, {})])
    asked = query(tokens, keyphrases)
    found = store.complete(asked, ["p0", "p1", "p2"], "casper", sentences=False)
    squares = 4 + 0.25 + 0.25 * (49 + 0.01)
    np.testing.assert_allclose(found.sparse, [1, 2 / squares, 0], rtol=1e-6)
    assert (found.terms, found.tokens, found.keyphrases) == ((), ("cell", "##ase"), ("stem cell", "v. 2.0"))
    assert found.contributions.shape == (3, 4)
    assert candidates(store, asked) == ["p0", "p1"]


def test_a_keyphrase_counts_beta_of_its_weight(store: Store) -> None:
    store.write([paper("p0", {"cell": 1.0}, {}), paper("p1", {}, {"stem cell": 1.0})])
    for beta, order in ((0.25, ["p0", "p1"]), (4.0, ["p1", "p0"]), (0.0, ["p0"])):
        asked = query({"cell": 1.0}, {"stem cell": 1.0}, beta=beta)
        assert candidates(store, asked) == order
        found = store.complete(asked, ["p0", "p1"], "casper", sentences=False)
        np.testing.assert_allclose(found.sparse, [1 / (1 + beta), beta / (1 + beta)], rtol=1e-6)


def test_weights_are_kept_exactly(store: Store) -> None:
    """The index of a server keeps nine bits of a weight. Here weights differ by less, and the order is right."""
    weights = 1 + np.arange(40, dtype=np.float32) / 40_000
    store.write([paper(f"p{i:02}", {"cell": float(weight)}, {}) for i, weight in enumerate(weights)])
    asked = query({"cell": 1.0}, {})
    best_first = [f"p{i:02}" for i in range(39, -1, -1)]
    for k in (1, 5, 100):
        assert candidates(store, asked, k) == best_first[:k]
    found = store.complete(asked, best_first, "casper", sentences=False)
    np.testing.assert_array_equal(found.sparse, weights[::-1])


def test_replaced_and_deleted_papers_are_found_by_what_they_have_now(store: Store) -> None:
    store.write([paper("p0", {"old": 1.0}, {"old thing": 1.0}), paper("p1", {"old": 2.0}, {})])
    store.write([paper("p0", {"new": 1.0}, {"new thing": 1.0})])
    assert candidates(store, query({"old": 1.0}, {"old thing": 1.0})) == ["p1"]
    assert candidates(store, query({"new": 1.0}, {})) == ["p0"]
    assert where(store, "keyphrase=old thing") == set()
    store.delete(["p1"])
    assert candidates(store, query({"old": 1.0}, {})) == []


def test_an_embargo_holds_for_learned_features_too(place: Any, store: Store) -> None:
    store.write([paper("p0", {"cell": 1.0}, {}, access="embargoed", embargo_end="2024-07-01"), paper("p1", {}, {})])
    asked = query({"cell": 1.0}, {})
    assert candidates(store, asked) == []
    assert candidates(store, asked, scope=Scope(restricted=True)) == ["p0"]
    place.today = date(2024, 7, 1)
    assert candidates(store, asked) == ["p0"]


def test_a_query_without_features_finds_nothing(store: Store) -> None:
    store.write([paper("p0", {"cell": 1.0}, {"stem cell": 1.0})])
    for asked in (query({}, {}), query({}, {"stem cell": 1.0}, beta=0.0), query({"dog": 1.0}, {})):
        assert candidates(store, asked) == []
        assert store.complete(asked, ["p0"], "casper", sentences=False).sparse.tolist() == [0.0]


def test_a_feature_may_have_any_name(store: Store) -> None:
    """Dots, signs, other scripts: each finds its own paper."""
    names = ["a.b", "a%2Eb", ".", "%", "##s", "数学", "1,000", "x" * 300]
    store.write([paper(f"t{i}", {name: 1.0}, {}) for i, name in enumerate(names)])
    store.write([paper(f"k{i}", {}, {name: 1.0}) for i, name in enumerate(names)])
    for i, name in enumerate(names):
        assert candidates(store, query({name: 1.0}, {})) == [f"t{i}"]
        assert candidates(store, query({}, {name: 1.0})) == [f"k{i}"]
        assert where(store, f"keyphrase={name}") == {f"k{i}"}


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -1.0, 1e39])
def test_weights_that_are_none_are_refused(store: Store, weight: float) -> None:
    with pytest.raises(StoreError, match="'cell' weighs"):
        store.write([paper("p0", {"cell": weight}, {})])


def test_a_weight_of_zero_is_no_feature(store: Store) -> None:
    store.write([paper("p0", {"cell": 0.0, "dog": 1.0}, {"stem cell": 0.0})])
    assert candidates(store, query({"cell": 1.0}, {"stem cell": 1.0})) == []
    assert where(store, "keyphrase=stem cell") == set()


def test_papers_are_filtered_by_their_keyphrases(store: Store) -> None:
    """As by any list, without regard to case."""
    store.write(
        [
            paper("p0", {"cell": 1.0}, {"Stem cell": 1.0, "growth": 0.5}),
            paper("p1", {"cell": 1.0}, {"growth": 1.0}),
            paper("p2", {"cell": 1.0}, {}),
        ]
    )
    assert where(store, "keyphrase=STEM CELL") == {"p0"}
    assert where(store, "keyphrase=stem") == set()
    assert where(store, "keyphrase!=stem cell") == {"p1", "p2"}
    assert where(store, "keyphrase=") == {"p2"}
    assert where(store, "keyphrase!=") == {"p0", "p1"}
    assert where(store, "keyphrase=growth", "keyphrase!=stem cell", "title=Title") == {"p1"}


def test_only_the_keyphrases_of_most_weight_are_filtered_by(store: Store) -> None:
    """Ten of them; all of them are compared."""
    store.write([paper("p0", {}, {f"phrase {i:02}": 20.0 - i for i in range(12)})])
    assert where(store, "keyphrase=phrase 09") == {"p0"}
    assert where(store, "keyphrase=phrase 10") == set()
    assert candidates(store, query({}, {"phrase 11": 1.0})) == ["p0"]


def test_a_paper_is_not_its_own_candidate(store: Store) -> None:
    store.write([paper(f"p{i}", {"cell": 1.0 + i}, {}) for i in range(5)])
    asked = replace(query({"cell": 1.0}, {}), like="p4")
    assert candidates(store, asked, k=2) == ["p3", "p2"]


def where(store: Store, *conditions: str) -> set[str]:
    """Ids that the conditions admit."""
    ids = tuple(f"{kind}{number}" for kind in "ptk" for number in range(12))
    return set(store.candidates(query({}, {}), [], 50, Scope(tuple(map(Condition.parse, conditions)), ids)))
