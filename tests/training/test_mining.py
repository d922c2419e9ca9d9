"""FRIEREN on a corpus made here: triplets of all sources, what is no negative, splits, resuming, the manifest."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.errors import RecordError, SettingsError
from sciret.paper import Paper
from sciret.training import triplet_file
from sciret.training.hard_negatives import ModelRanking, by_model
from sciret.training.mined_examples import title_id
from sciret.training.mining import manifest_path, mine
from sciret.training.mining_config import MiningConfig

TOPICS = ("peat bog carbon", "coral reef heat", "steel fatigue crack", "quantum error code", "bird song learning")
Row = dict[str, Any]
Write = Callable[[str, Iterable[Mapping[str, Any]]], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_rows(name: str, rows: Iterable[Mapping[str, Any]]) -> str:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return str(path)

    return write_rows


def papers(count: int = 60) -> list[Row]:
    rows = []
    for number in range(count):
        topic = TOPICS[number % len(TOPICS)]
        first, second, third = topic.split()
        rows.append(
            {
                "id": f"p{number}",
                "title": f"Observation {number} of the {first} and its {second} with {third}",
                "abstract": f"The {topic} was observed in {words(number, 12)}. Each time the {second} had changed. "
                f"Values such as {words(-number, 12)} were noted.",
                "keyphrases": [f"{topic}", f"{first} number {number // 10}"],
            }
        )
    return rows


def words(seed: int, count: int) -> str:
    """Of no language, and of one paper only."""
    chance = random.Random(seed)
    return " ".join("".join(chance.choices("abcdefgh", k=6)) for _ in range(count))


def outside(number: int) -> str:
    """Title of a paper that the corpus does not have."""
    return f"Paper {words(1000 + number % 9, 6)}"


def contexts(count: int = 200) -> list[Row]:
    rows = []
    for number in range(count):
        cited = 7 * number % 60
        topic = TOPICS[cited % len(TOPICS)]
        rows.append(
            {
                "citing": f"c{number // 2}",
                "context": f"As was seen in case {number}, {topic} varies [CITE].",
                "cited": [{"id": f"p{cited}", "title": "Known"}, {"title": outside(number)}],
            }
        )
    return rows


@pytest.fixture
def config(write: Write) -> MiningConfig:
    return MiningConfig(
        corpus=(write("papers.jsonl", papers()),),
        contexts=write("contexts.jsonl", contexts()),
        cocitations=write("pairs.jsonl", [{"a": "p1", "b": "p6", "contexts": ["Both saw the same coral."]}]),
        queries=write("log.jsonl", [{"query": "coral heat", "clicked": ["p1"], "shown": ["p6", "p11", "p1", "p16"]}]),
        title_only=True,
        negatives=4,
        depth=30,
        dev_share=0.2,
    )


def triplets(path: Path) -> list[Row]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def mined(config: MiningConfig, out: Path) -> list[Row]:
    mine(config, out)
    return triplets(out)


def test_every_source_gives_triplets(config: MiningConfig, tmp_path: Path) -> None:
    """With its weight, as many negatives as asked for, none of them the positive, none twice."""
    rows = mined(replace(config, weights={"titles": 0.25}), tmp_path / "t.jsonl.gz")
    assert {row["source"] for row in rows} == {
        "titles", "contexts", "cited_titles", "cocitations", "keyphrases", "queries",
    }  # fmt: skip
    for row in rows:
        assert set(row) == {"source", "query", "positive", "negatives", "weight", "split"}
        assert len(set(row["negatives"])) == 4
        assert row["positive"] not in row["negatives"]
        assert "[CITE]" not in row["query"]
    assert {row["weight"] for row in rows if row["source"] == "titles"} == {0.25}


def test_negatives_are_hard(config: MiningConfig, tmp_path: Path) -> None:
    """Most share the topic of the query, which a fifth of all papers do."""
    rows = [row for row in mined(replace(config, depth=8), tmp_path / "t.jsonl") if row["source"] == "contexts"]
    alike = [int(n[1:]) % 5 == int(row["positive"][1:]) % 5 for row in rows for n in row["negatives"]]
    assert sum(alike) / len(alike) > 0.5


def test_what_answers_too_is_no_negative(config: MiningConfig, write: Write, tmp_path: Path) -> None:
    """A second version of the positive, a paper cited together with it, one with its keyphrases, the one that cites."""
    rows = papers(30)
    rows[5] = {**rows[0], "id": "p5", "title": rows[0]["title"] + "."}
    rows[10]["keyphrases"] = rows[0]["keyphrases"] = ["rare moss", "other moss"]
    rows[15]["abstract"] = rows[0]["abstract"] + " More."
    cited = [{"citing": "p20", "context": "A peat bog stores carbon for long.", "cited": [{"id": "p0"}]}]
    pairs = [{"a": "p0", "b": "p25", "contexts": []}]
    config = replace(
        config,
        corpus=(write("papers.jsonl", rows),),
        contexts=write("contexts.jsonl", cited),
        cocitations=write("pairs.jsonl", pairs),
        queries=None,
        title_only=False,
        negatives=24,
    )
    found = [row for row in mined(config, tmp_path / "t.jsonl") if row["source"] == "contexts"]
    assert len(found) == 1
    assert set(found[0]["negatives"]) == {f"p{n}" for n in range(30)} - {"p0", "p5", "p10", "p15", "p20", "p25"}


def test_papers_with_the_keyphrases_asked_for_are_no_negatives(config: MiningConfig, tmp_path: Path) -> None:
    keyphrases = {row["id"]: set(row["keyphrases"]) for row in papers()}
    for row in mined(config, tmp_path / "t.jsonl"):
        if row["source"] == "keyphrases":
            asked = set(row["query"].split(", "))
            assert asked <= keyphrases[row["positive"]]
            assert not any(asked <= keyphrases[negative] for negative in row["negatives"])


def test_what_a_user_passed_over_comes_first(config: MiningConfig, tmp_path: Path) -> None:
    """Unless it is a false negative: p6 is cited together with p1."""
    row = next(row for row in mined(config, tmp_path / "t.jsonl") if row["source"] == "queries")
    assert row["negatives"][:2] == ["p11", "p16"]
    assert "p6" not in row["negatives"]


def test_titles_alone_are_papers_of_their_own(config: MiningConfig, tmp_path: Path) -> None:
    """Positives and negatives alike, so that length does not give the positive away; they are written beside."""
    rows = [row for row in mined(config, tmp_path / "t.jsonl.gz") if row["source"] == "cited_titles"]
    written = {row["id"]: row["title"] for row in triplets(tmp_path / "t.papers.jsonl.gz")}
    assert written[title_id(outside(3).upper())] == outside(3)
    assert {each for row in rows for each in (row["positive"], *row["negatives"])} <= written.keys()


def test_a_citing_paper_is_in_one_split_and_no_query_in_two(config: MiningConfig, tmp_path: Path) -> None:
    rows = mined(config, tmp_path / "t.jsonl")
    citing = {row["context"].replace(" [CITE]", ""): row["citing"] for row in contexts()}
    splits: dict[str, set[str]] = {}
    queries: dict[str, set[str]] = {}
    for row in rows:
        queries.setdefault(row["query"].casefold(), set()).add(row["split"])
        if row["source"] in ("contexts", "cited_titles"):
            splits.setdefault(citing[row["query"]], set()).add(row["split"])
    assert {split for each in splits.values() for split in each} == {"train", "dev"}
    assert all(len(each) == 1 for each in splits.values())
    assert all(len(each) == 1 for each in queries.values())


def test_a_cocitation_follows_the_sentence_that_made_it(config: MiningConfig, write: Write, tmp_path: Path) -> None:
    """In the split of its citing paper; where sentences of both splits made it, in none."""
    rows, pairs = [], []
    for number in range(0, 58, 2):
        a, b = f"p{number}", f"p{number + 1}"
        text = f"Together they showed result number {number} of that kind."
        rows.append({"citing": f"c{number}", "context": text, "cited": [{"id": a}, {"id": b}]})
        pairs.append({"a": a, "b": b, "contexts": [text]})
    config = replace(
        config, contexts=write("c.jsonl", rows), cocitations=write("p.jsonl", pairs), dev_share=0.4, title_only=False
    )
    found = mined(config, tmp_path / "t.jsonl")
    by_pair = {frozenset((r["positive"],)): r["split"] for r in found if r["source"] == "contexts"}
    checked = [r["split"] == by_pair[frozenset((r["positive"],))] for r in found if r["source"] == "cocitations"]
    assert len(checked) > 20
    assert all(checked)


def test_queries_to_be_tested_with_are_never_trained_on(config: MiningConfig, write: Write, tmp_path: Path) -> None:
    """However they are written."""
    held = contexts()[7]["context"].replace("[CITE]", "").upper()
    titles = papers()[3]["title"]
    config = replace(config, exclude=(write("test.jsonl", [{"id": "q", "text": held}, {"query": titles}]),))
    queries = {row["query"].casefold() for row in mined(config, tmp_path / "t.jsonl")}
    assert contexts()[7]["context"].replace(" [CITE]", "").casefold() not in queries
    assert titles.casefold() not in queries
    assert contexts()[8]["context"].replace(" [CITE]", "").casefold() in queries


def test_caps_draw_evenly_from_the_files(config: MiningConfig, write: Write, tmp_path: Path) -> None:
    """A file that has less gives all, and the others the rest. A cap of 0 leaves a source out."""
    more = [{**row, "id": f"x{row['id']}", "title": f"Another {row['title']}"} for row in papers(5)]
    config = replace(
        config, corpus=(*config.corpus, write("few.jsonl", more)), caps={"titles": 20, "contexts": 30, "keyphrases": 0}
    )
    rows = mined(config, tmp_path / "t.jsonl")
    titles = [row["positive"] for row in rows if row["source"] == "titles"]
    assert len(titles) <= 20
    assert sum(each.startswith("x") for each in titles) >= 3
    assert 20 <= sum(row["source"] == "contexts" for row in rows) <= 30
    assert not any(row["source"] == "keyphrases" for row in rows)


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(config: MiningConfig, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.jsonl.gz", "b.jsonl.gz", "c.jsonl.gz")]
    for path, seed in zip(files, (1, 1, 2), strict=True):
        mine(replace(config, seed=seed), path)
    a, b, c = (path.read_bytes() for path in files)
    assert a == b
    assert a != c


def test_a_stopped_run_is_continued(config: MiningConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any checkpoint, also when the last piece was half written, the file comes out as if nothing had happened."""
    monkeypatch.setattr(triplet_file, "PIECE", 25)
    mine(config, tmp_path / "whole.jsonl.gz")
    whole = (tmp_path / "whole.jsonl.gz").read_bytes()
    out = tmp_path / "t.jsonl.gz"
    checkpoint = triplet_file.TripletFile._checkpoint
    left = [0]

    def stopping(self: triplet_file.TripletFile) -> None:
        left[0] -= 1
        if left[0] < 0:
            self.file.write(b"half a piece")
            raise KeyboardInterrupt
        checkpoint(self)

    monkeypatch.setattr(triplet_file.TripletFile, "_checkpoint", stopping)
    for left[0] in (1, 3, 2):
        with pytest.raises(KeyboardInterrupt):
            mine(config, out)
        assert not out.exists()
    monkeypatch.setattr(triplet_file.TripletFile, "_checkpoint", checkpoint)
    told: list[str] = []
    manifest = mine(config, out, tell=told.append)
    assert any("continuing after" in line for line in told)
    assert out.read_bytes() == whole
    assert manifest["counts"] == json.loads(manifest_path(tmp_path / "whole.jsonl.gz").read_text())["counts"]
    assert sorted(path.name for path in tmp_path.glob("t.*")) == [
        "t.jsonl.gz", "t.manifest.json", "t.papers.jsonl.gz", "t.work",
    ]  # fmt: skip


def test_a_run_is_not_continued_with_other_options(config: MiningConfig, tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl.gz"
    file = triplet_file.TripletFile.open(out, "other")
    file.write({"source": "titles", "split": "train"})
    file._checkpoint()
    file.file.close()
    with pytest.raises(SettingsError, match="other options or data"):
        mine(config, out)


def test_the_manifest_says_what_came_of_what(config: MiningConfig, tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl.gz"
    manifest = mine(config, out)
    assert json.loads(manifest_path(out).read_text(encoding="utf-8")) == manifest
    assert [each["file"] for each in manifest["inputs"]] == [
        "papers.jsonl",
        "contexts.jsonl",
        "pairs.jsonl",
        "log.jsonl",
    ]
    assert manifest["config"]["seed"] == 0
    rows = triplets(out)
    for source, counts in manifest["counts"].items():
        assert counts["triplets"] == sum(row["source"] == source for row in rows)
        assert counts.get("dev", 0) == sum(row["source"] == source and row["split"] == "dev" for row in rows)
    assert str(tmp_path) not in json.dumps(manifest)


def test_papers_that_are_not_open_teach_nothing(config: MiningConfig, write: Write, tmp_path: Path) -> None:
    """What is derived from a text inherits its access."""
    closed = [{**row, "access": "restricted"} if n % 2 else row for n, row in enumerate(papers())]
    rows = mined(replace(config, corpus=(write("papers.jsonl", closed),)), tmp_path / "t.jsonl")
    named = {each for row in rows for each in (row["positive"], *row["negatives"]) if each.startswith("p")}
    assert named
    assert all(int(each[1:]) % 2 == 0 for each in named)


def test_half_of_the_negatives_by_a_model(config: MiningConfig, tmp_path: Path) -> None:
    """Of a store that it has filled: here its vectors put p40 and its neighbours nearest to everything."""
    import numpy as np

    def vector(number: int) -> Any:
        angle = abs(number - 40) / 60
        return np.array([np.cos(angle), np.sin(angle)], np.float32)

    with EmbeddedStore.open(tmp_path / "model.db", create=True) as store:
        store.write(
            [
                EncodedPaper(
                    Paper(row["id"], row["title"]),
                    "m",
                    vector(int(row["id"][1:])),
                    (row["title"],),
                    (),
                    vector(0)[None],
                )
                for row in papers()
            ]
        )
        near = by_model(store, lambda text: EncodedQuery(text, "m", vector(40)))
        manifest = mine(replace(config, depth=4, title_only=False), tmp_path / "t.jsonl", model=ModelRanking("m", near))
    assert manifest["model"] == "m"
    rows = [row for row in triplets(tmp_path / "t.jsonl") if row["source"] == "titles"]
    close = [sum(abs(int(n[1:]) - 40) <= 2 for n in row["negatives"]) for row in rows]
    assert sum(close) / len(close) > 1.5


def options(name: str, value: str) -> dict[str, Any]:
    return {name: value}


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("contexts", '{"citing": "a", "context": 1, "cited": []}', "a citation is"),
        ("contexts", '{"citing": "a", "context": "some text here now", "cited": ["x"]}', "list of objects"),
        ("contexts", "not json", "not JSON"),
        ("contexts", "[]", "not a JSON object"),
        ("cocitations", '{"a": "p1"}', "a co-citation is"),
        ("queries", '{"query": "x"}', "a query log"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(
    config: MiningConfig, tmp_path: Path, name: str, line: str, message: str
) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(RecordError, match=message) as error:
        mine(replace(config, **options(name, str(path))), tmp_path / "t.jsonl")
    assert error.value.where == f"{path}:1"


@pytest.mark.parametrize(
    "wrong",
    [
        {"weights": {"title": 1.0}},
        {"weights": {"titles": 0.0}},
        {"caps": {"titles": -1}},
        {"depth": 2},
        {"dev_share": 1.0},
        {"corpus": ()},
        {"corpus": ("-",)},
        {"contexts": "missing.jsonl"},
    ],
)
def test_options_that_cannot_be(config: MiningConfig, wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        replace(config, **wrong)
