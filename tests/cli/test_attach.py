"""`sciret attach` on a real server with the model that ships: beside an index or inside it, which stays as it was."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Protocol

import pytest
from click.testing import Result
from library import Library, documents

from sciret.errors import StoreError

PAPERS = Path(__file__).parent / "papers.jsonl"
Sciret = Callable[..., Result]


class Server(Protocol):
    @property
    def url(self) -> str: ...


@pytest.fixture
def make(opensearch: Server, unique_name: Callable[..., str]) -> Iterator[Callable[..., Library]]:
    """A library of another application; a store beside it goes with it."""
    with ExitStack() as opened:

        def library(**options: Any) -> Library:
            beside = unique_name("sciret-library")
            made = Library(opensearch.url, beside.removeprefix("sciret-"), **options)
            opened.callback(made.close)
            return made

        yield library


@pytest.fixture
def library(make: Callable[..., Library]) -> Library:
    """A dozen papers, and a document that is none."""
    made = make()
    made.put({**real_documents(), "nameless": {"kurz": "An abstract alone."}})
    return made


def real_documents() -> dict[str, dict[str, Any]]:
    found = {}
    for number, line in enumerate(PAPERS.read_text(encoding="utf-8").splitlines()):
        record = json.loads(line)
        kurz = {"kurz": record["abstract"]} if record.get("abstract") else {}
        found[record["id"]] = {"bib": {"titel": record["title"]}, "shelf": f"S{number % 3}", **kurz}
    return found


def attach(sciret: Sciret, library: Library, *options: str) -> dict[str, Any]:
    given = ("--title", "bib.titel", "--abstract", "kurz", "--json", *options)
    result = sciret("attach", "--from", library.address, *given)
    assert result.exit_code in (0, 3), result.output
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def found(sciret: Sciret, store: str, text: str, *options: str) -> list[str]:
    result = sciret("search", text, "--store", store, "--json", "-k", "3", *options)
    assert result.exit_code == 0, result.output
    return [hit["id"] for hit in json.loads(result.stdout)["hits"]]


def answers(library: Library) -> list[Any]:
    """What the application asks, by its own fields, by patterns of its name, and for whole documents."""
    words = library.ask({"query": {"match": {"kurz": "the of and"}}, "sort": ["_score", "shelf"], "size": 50})
    everything = {"query": {"match_all": {}}, "sort": ["_doc"], "size": 50}
    shelves = {"size": 0, "aggs": {"shelves": {"terms": {"field": "shelf"}}}}
    pattern = library.client.call("POST", f"/{library.name}*/_search", shelves)
    return [
        [(hit["_id"], hit["_score"], hit["_source"]) for hit in words["hits"]["hits"]],
        [(hit["_id"], hit["_source"]) for hit in library.ask(everything)["hits"]["hits"]],
        (pattern["aggregations"], pattern["hits"]["total"]),
        library.client.call("GET", f"/{library.name}/_mapping"),
        library.client.call("GET", f"/{library.name}/_settings"),
    ]


def test_a_store_beside_the_index(library: Library, sciret: Sciret) -> None:
    """The same ids are found by sciret, and the index is what it was in every respect."""
    before = answers(library)
    outcome = attach(sciret, library)
    store = outcome["store"]
    assert store == library.address.replace(library.name, f"sciret-{library.name}")
    assert (outcome["read"], outcome["written"], outcome["refused"]) == (13, 12, 1)
    assert answers(library) == before
    for paper_id, document in list(real_documents().items())[:4]:
        assert found(sciret, store, document["bib"]["titel"])[0] == paper_id
    (line,) = Path(f"sciret-{library.name}.rejects.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["_rejected"]["where"] == f"{library.name}/nameless"


def test_the_same_command_again_changes_nothing(library: Library, sciret: Sciret) -> None:
    attach(sciret, library)
    again = attach(sciret, library)
    assert (again["written"], again["unchanged"], again["refused"]) == (0, 12, 1)


def test_other_fields_are_read_anew(library: Library, sciret: Sciret) -> None:
    """A field that papers did not have before makes new versions of all of them."""
    store = attach(sciret, library)["store"]
    assert attach(sciret, library, "--field", "collections=shelf")["written"] == 12
    shown = sciret("show", next(iter(real_documents())), "--store", store, "--json")
    assert json.loads(shown.stdout)["collections"] == ["S0"]


@pytest.mark.parametrize("knn", [False, True])
def test_inside_the_index(make: Callable[..., Library], sciret: Sciret, knn: bool) -> None:
    """It is the store then, with or without graphs; its own fields answer as before."""
    library = make(knn=knn)
    library.put(real_documents())
    before = library.ask({"query": {"match_all": {}}, "sort": ["_id"], "size": 50})["hits"]["hits"]
    outcome = attach(sciret, library, "--in-place")
    assert (outcome["store"], outcome["written"]) == (library.address, 12)
    after = library.ask({"query": {"match_all": {}}, "sort": ["_id"], "size": 50, "_source": {"excludes": ["sciret"]}})
    assert [hit["_source"] for hit in after["hits"]["hits"]] == [hit["_source"] for hit in before]
    assert library.ask({"query": {"term": {"shelf": "S1"}}})["hits"]["total"]["value"] == 4
    paper_id, document = list(real_documents().items())[2]
    for sparse in ("bm25", "tfidf"):
        assert found(sciret, library.address, document["bib"]["titel"], "--sparse", sparse)[0] == paper_id
    assert paper_id not in found(sciret, library.address, document["bib"]["titel"], "--where", f"id!={paper_id}")
    assert sciret("search", "--like", paper_id, "--store", library.address).exit_code == 0
    assert json.loads(sciret("stats", "--store", library.address, "--json").stdout)["papers"] == 12
    assert attach(sciret, library, "--in-place")["written"] == 0


def test_an_ingest_does_not_overwrite_the_documents_of_such_an_index(library: Library, sciret: Sciret) -> None:
    attach(sciret, library, "--in-place")
    result = sciret("ingest", PAPERS, "--store", library.address)
    assert result.exit_code == 1
    assert "another application's index" in result.stderr
    for arguments in (("status",), ("migrate",), ("delete",)):
        refused = sciret("index", *arguments, "--store", library.address)
        assert refused.exit_code != 0
    assert library.ask({"query": {"term": {"shelf": "S1"}}})["hits"]["total"]["value"] == 4


def test_both_at_once_find_the_same(library: Library, sciret: Sciret) -> None:
    beside = attach(sciret, library)["store"]
    attach(sciret, library, "--in-place")
    for document in list(real_documents().values())[:3]:
        text = document["bib"]["titel"]
        assert found(sciret, beside, text, "--exact") == found(sciret, library.address, text, "--exact")


def test_a_run_that_is_killed_is_continued(make: Callable[..., Library], sciret: Sciret) -> None:
    """Nothing is encoded twice, nothing is missing, nothing is there twice."""
    library = make()
    library.put(documents(range(300)))
    command = [sys.executable, "-m", "sciret.cli.main", "attach", "--from", library.address, "--title", "bib.titel"]
    store = library.address.replace(library.name, f"sciret-{library.name}")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        kept = wait_for_papers(library, process, 64)
        process.send_signal(signal.SIGKILL)
    assert 64 <= kept < 300
    outcome = attach(sciret, library)
    assert outcome["unchanged"] >= kept
    assert outcome["written"] + outcome["unchanged"] == 300
    assert json.loads(sciret("stats", "--store", store, "--json").stdout)["papers"] == 300


def wait_for_papers(library: Library, process: subprocess.Popen[bytes], count: int) -> int:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(StoreError):  # while the index is made
            answer = library.client.call("GET", f"/sciret-{library.name}/_count")
            if answer["count"] >= count:
                return int(answer["count"])
        time.sleep(0.02)
    raise AssertionError(f"no {count} papers in time: {process.stderr.read() if process.stderr else None!r}")


def refusal(sciret: Sciret, *arguments: str) -> tuple[int, str]:
    result = sciret("attach", *arguments)
    return result.exit_code, result.stderr


def test_what_cannot_be_is_said_before_anything_is_read(library: Library, sciret: Sciret) -> None:
    given = ("--from", library.address, "--title", "bib.titel")
    code, said = refusal(sciret, "--from", library.address, "--title", "titel")
    assert code == 2
    assert "there are bib.titel" in said
    code, said = refusal(sciret, *given, "--field", "yaer=revision")
    assert code == 2
    assert "no such field" in said
    code, said = refusal(sciret, *given, "--field", "year")
    assert code == 2
    assert "FIELD=PATH" in said
    code, said = refusal(sciret, *given, "--into", library.address)
    assert code == 2
    assert "--in-place" in said
    code, said = refusal(sciret, *given, "--into", library.address, "--in-place")
    assert code == 2
    assert "give one of them" in said
    code, said = refusal(sciret, "--from", f"{library.address}-none", "--title", "t")
    assert code == 1
    assert "check the name" in said
    code, said = refusal(sciret, "--from", "library.db", "--title", "t")
    assert code == 2
    assert "write it like https://" in said
