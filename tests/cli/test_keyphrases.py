"""`sciret keyphrases` and what search and show say of learned features, with a bundle whose weights are counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sciret.embedded.store import EmbeddedStore
from sciret.encoded import EncodedPaper
from sciret.encoders.bundle import Sparse, load_bundle
from sciret.paper import Paper

from ..encoders.sparse_bundle import sparse_bundle

Sciret = Callable[..., Result]

REEFS = [
    {"id": "r1", "title": "Coral reef enzymes", "abstract": "The enzyme of zooxanthellae, an enzyme, feeds a reef."},
    {"id": "r2", "title": "Waves and sand", "abstract": "Reefs of dead coral become sand."},
    {"id": "r3", "title": "A secret dune", "access": "restricted"},
]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sparse_bundle(tmp_path_factory.mktemp("sparse"), vectors=True, sparse=Sparse(beta=0.5, mass=1.0))


@pytest.fixture(scope="module")
def reefs(bundle: str, tmp_path_factory: pytest.TempPathFactory, sciret: Sciret) -> tuple[Path, Path]:
    """A file of papers, and the store that they are in."""
    folder = tmp_path_factory.mktemp("reefs")
    source = folder / "papers.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in REEFS), encoding="utf-8")
    result = sciret("ingest", source, "--store", folder / "papers.db", "--model", bundle, "--threads", "1")
    assert result.exit_code == 0, result.output
    return source, folder / "papers.db"


def test_of_a_text(sciret: Sciret, bundle: str) -> None:
    """For people and as one document."""
    text = "The enzyme of a reef. It is there."
    result = sciret("keyphrases", text, "--model", bundle)
    assert result.exit_code == 0, result.output
    # Each weighs 1 and begins after so many of eight words; the heaviest keyphrase of the vocabulary counts double.
    enzyme, reef = 2 / (1 + 1 / 8), 1 / (1 + 4 / 8)
    assert [line.split(maxsplit=2) for line in result.stdout.splitlines()] == [
        ["present", f"{enzyme:.3f}", "enzyme"],
        [f"{reef:.3f}", "reef"],
        ["absent", "1.000", "coral reef"],
    ]
    as_json = json.loads(sciret("keyphrases", text, "--model", bundle, "--json").stdout)
    assert as_json == {
        "id": None,
        "title": None,
        "present": {"enzyme": pytest.approx(enzyme), "reef": pytest.approx(reef)},
        "absent": {"coral reef": 1.0},
    }


def test_of_a_text_with_the_default_model(sciret: Sciret) -> None:
    """Phrases that the vocabulary lacks too; words of prose are none."""
    text = "Thermally tolerant corals lose their symbiotic algae when the sea gets too warm. We propose a new method."
    found = json.loads(sciret("keyphrases", text, "--json").stdout)
    assert list(found["present"])[:2] == ["thermally tolerant corals", "symbiotic algae"]
    assert "reef-building corals" in found["absent"]
    assert not any(word in phrase for phrase in found["present"] for word in ("propose", "new", "method"))


def test_of_stdin_and_of_a_text_file(sciret: Sciret, bundle: str, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("The sand of a dune", encoding="utf-8")
    by_name = sciret("keyphrases", tmp_path / "text.txt", "--model", bundle)
    by_stdin = sciret("keyphrases", "-", "--model", bundle, stdin="The sand of a dune")
    assert by_name.stdout == by_stdin.stdout
    assert "sand" in by_name.stdout
    latin = sciret("keyphrases", "-", "--model", bundle, stdin="d\u00fcne".encode("latin-1"))
    assert latin.exit_code == 2
    assert "not UTF-8" in latin.stderr


def test_of_papers_in_a_file(sciret: Sciret, bundle: str, reefs: tuple[Path, Path]) -> None:
    """A line a paper; the same from stdin when the format is said."""
    lines = sciret("keyphrases", reefs[0], "--model", bundle, "--json").stdout
    found = [json.loads(line) for line in lines.splitlines()]
    assert [record["id"] for record in found] == ["r1", "r2", "r3"]
    assert {"coral reef", "enzyme", "coral reef enzymes", "zooxanthellae"} <= set(found[0]["present"])
    text = reefs[0].read_text(encoding="utf-8")
    assert sciret("keyphrases", "-", "--format", "jsonl", "--model", bundle, "--json", stdin=text).stdout == lines
    shown = sciret("keyphrases", reefs[0], "--model", bundle, "-k", "1").stdout
    assert "r2  Waves and sand\npresent " in shown
    assert shown.count("present") == 3


def test_records_that_cannot_be_read_are_named(sciret: Sciret, bundle: str) -> None:
    stdin = '{"id": "a", "title": "Sand"}\n{"id": "b"}\n'
    result = sciret("keyphrases", "-", "--format", "jsonl", "--model", bundle, "--json", stdin=stdin)
    assert result.exit_code == 3
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["a"]
    assert "stdin:2" in result.stderr


def test_of_a_paper_of_the_store(sciret: Sciret, reefs: tuple[Path, Path], bundle: str) -> None:
    """As of its text, and no model is needed. Papers that are not open have none to show."""
    result = sciret("keyphrases", "--paper", "r1", "--store", reefs[1], "--json", "--model", "/no/such/bundle")
    found = json.loads(result.stdout)
    assert (found["id"], found["title"]) == ("r1", "Coral reef enzymes")
    of_text = json.loads(sciret("keyphrases", reefs[0], "--model", bundle, "--json").stdout.splitlines()[0])
    assert list(found["present"]) == list(of_text["present"])
    assert found["present"] == pytest.approx(of_text["present"], rel=1e-3)
    assert found["absent"] == pytest.approx(of_text["absent"], rel=1e-3)
    hidden = sciret("keyphrases", "--paper", "r3", "--store", reefs[1])
    assert (hidden.exit_code, "--access all" in hidden.stderr) == (2, True)
    assert sciret("keyphrases", "--paper", "r3", "--store", reefs[1], "--access", "all").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "either TEXT, FILE"),
        (["text", "--paper", "r1"], "either TEXT, FILE"),
        (["nowhere.jsonl"], "no such file"),
        ([" "], "the text is empty"),
        (["--paper", "nobody"], "no paper 'nobody'"),
    ],
)
def test_usage(sciret: Sciret, reefs: tuple[Path, Path], bundle: str, arguments: list[str], message: str) -> None:
    result = sciret("keyphrases", *arguments, "--store", reefs[1], "--model", bundle)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.fixture
def bare(tmp_path: Path, bundle: str) -> Path:
    """A store that was filled when its model gave no learned features."""
    with EmbeddedStore.open(tmp_path / "bare.db", create=True) as store:
        paper = Paper("bee", "Bees")
        store.write([EncodedPaper(paper, load_bundle(bundle).fingerprint, sentences=("Bees",))])
    return tmp_path / "bare.db"


def test_a_paper_without_keyphrases_says_so(sciret: Sciret, bare: Path) -> None:
    result = sciret("keyphrases", "--paper", "bee", "--store", bare)
    assert result.exit_code == 2
    assert "no keyphrases" in result.stderr


def test_show_lists_the_keyphrases(sciret: Sciret, reefs: tuple[Path, Path]) -> None:
    shown = sciret("show", "r1", "--store", reefs[1])
    assert "coral reef; enzyme" in shown.stdout
    record = json.loads(sciret("show", "r1", "--store", reefs[1], "--json").stdout)
    assert record["keyphrases"] == ["coral reef", "enzyme"]


@pytest.mark.parametrize(("sparse", "name"), [("casper", "casper"), ("both", "sparse")])
def test_search_shows_words_and_concepts(
    sciret: Sciret, reefs: tuple[Path, Path], bundle: str, sparse: str, name: str
) -> None:
    """With their shares, which sum to one; pieces as the words they are of."""
    asked = ("search", "zooxanthellae of the coral reef", "--sparse", sparse, "--store", reefs[1], "--model", bundle)
    answer = json.loads(sciret(*asked, "--json").stdout)
    assert (answer["settings"]["sparse"], answer["settings"]["beta"]) == (sparse, 0.5)
    best = next(hit for hit in answer["hits"] if hit["id"] == "r1")
    assert "zooxanthellae" in best["why"]["terms"]
    assert list(best["why"]["keyphrases"]) == ["coral reef"]
    shares = [*best["why"]["terms"].values(), *best["why"]["keyphrases"].values()]
    assert sum(shares) == pytest.approx(1, abs=1e-6)
    assert best["keyphrases"] == ["coral reef", "enzyme"]
    explained = " ".join(sciret(*asked, "--explain").stdout.split())
    assert f"words, each with its share of {name}: " in explained
    assert f"concepts, each with its share of {name}: coral reef " in explained
    assert "concepts: coral reef" in sciret(*asked).stdout


@pytest.mark.parametrize("sparse", ["casper", "both"])
def test_beta_and_keyphrases_can_be_asked_for(
    sciret: Sciret, reefs: tuple[Path, Path], bundle: str, monkeypatch: pytest.MonkeyPatch, sparse: str
) -> None:
    asked = ("search", "--like", "r1", "--sparse", sparse, "--store", reefs[1], "--model", bundle, "--json")
    assert json.loads(sciret(*asked).stdout)["settings"]["beta"] == 0.5
    monkeypatch.setenv("SCIRET_BETA", "3")
    assert json.loads(sciret(*asked).stdout)["settings"]["beta"] == 3
    answer = json.loads(sciret(*asked, "--beta", "0", "--where", "keyphrase=SAND").stdout)
    assert answer["settings"]["beta"] == 0
    assert [(hit["id"], hit["why"]["keyphrases"]) for hit in answer["hits"]] == [("r2", {})]


def test_a_store_without_learned_features_is_searched_otherwise(sciret: Sciret, bare: Path, bundle: str) -> None:
    for sparse in ("casper", "both"):
        result = sciret("search", "bees", "--sparse", sparse, "--store", bare, "--model", bundle)
        assert result.exit_code == 2
        assert "--sparse bm25" in result.stderr
    words = ("--lambda", "0", "--rerank", "none")  # it has no vectors either
    by_default = sciret("search", "bees", *words, "--store", bare, "--model", bundle, "--json")
    assert by_default.exit_code == 0, by_default.output
    assert json.loads(by_default.stdout)["settings"]["sparse"] == "bm25"
