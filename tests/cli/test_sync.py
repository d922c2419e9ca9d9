"""`sciret sync` on a real server with the model that ships: what changed, what is gone, again and again."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import pytest
from click.testing import Result
from library import Library, documents

Sciret = Callable[..., Result]


class Server(Protocol):
    @property
    def url(self) -> str: ...


class Attached:
    """A library and the store beside it."""

    def __init__(self, library: Library, sciret: Sciret) -> None:
        self.library, self._sciret = library, sciret
        self.store = library.address.replace(library.name, f"sciret-{library.name}")

    def attach(self, *options: str) -> None:
        given = ("--from", self.library.address, "--title", "bib.titel", "--abstract", "kurz", *options)
        assert self._sciret("attach", *given).exit_code == 0

    def sync(self, *options: str) -> dict[str, Any]:
        result = self.run(*options)
        assert result.exit_code in (0, 3), result.output
        return json.loads(result.stdout)  # type: ignore[no-any-return]

    def run(self, *options: str) -> Result:
        into = () if "--into" in options else ("--into", self.store)
        return self._sciret("sync", *into, "--json", *options)

    def title(self, paper_id: str) -> str:
        shown = self._sciret("show", paper_id, "--store", self.store, "--json")
        return str(json.loads(shown.stdout)["title"])


@pytest.fixture
def attached(opensearch: Server, unique_name: Callable[..., str], sciret: Sciret) -> Iterator[Attached]:
    library = Library(opensearch.url, unique_name("sciret-library").removeprefix("sciret-"))
    library.put(documents(range(20), updated_at="2024-06-10T12:00:00Z"))
    made = Attached(library, sciret)
    made.attach()
    yield made
    library.close()


def renamed(number: int, when: str) -> dict[str, Any]:
    return {f"d{number}": {"bib": {"titel": f"Renamed {number}"}, "updated_at": when}}


@pytest.mark.parametrize("by", ["_seq_no", "updated_at"])
def test_what_changed_is_written_and_the_rest_is_left(attached: Attached, by: str) -> None:
    attached.sync("--by", by)
    attached.library.put({**renamed(3, "2024-06-11T12:00:00Z"), **renamed(77, "2024-06-11T12:00:00Z")})
    outcome = attached.sync("--by", by)
    assert outcome["written"] == 2
    assert attached.title("d3") == "Renamed 3"
    assert attached.title("d77") == "Renamed 77"
    assert attached.sync("--by", by)["written"] == 0


def test_what_is_gone_is_removed_when_asked_to(attached: Attached, sciret: Sciret) -> None:
    """And only if it is little enough."""
    attached.library.remove("d1")
    assert attached.sync()["deleted"] == 0
    assert attached.sync("--reconcile")["deleted"] == 1
    attached.library.remove("d2", "d3", "d4")
    refused = attached.run("--reconcile")
    assert refused.exit_code == 1
    assert "nothing was deleted" in refused.stderr
    assert attached.sync("--reconcile", "--max-deletions", "20")["deleted"] == 3


def test_reconcile_takes_what_was_missed(attached: Attached, sciret: Sciret) -> None:
    """As a paper that somebody deleted from the store."""
    assert sciret("delete", "d5", "--store", attached.store).exit_code == 0
    assert attached.sync("--by", "updated_at", "--overlap", "0s")["written"] == 1  # the first pass by another field
    assert sciret("delete", "d5", "--store", attached.store).exit_code == 0
    assert attached.sync("--by", "updated_at", "--overlap", "0s")["written"] == 0
    assert attached.sync("--by", "updated_at", "--reconcile")["written"] == 1


def test_an_index_with_sciret_inside(attached: Attached) -> None:
    """A document that the application replaces gets its paper back."""
    attached.attach("--in-place")
    attached.library.put(renamed(4, "2024-06-11T12:00:00Z"))
    inside = ("--into", attached.library.address)
    assert attached.sync(*inside)["written"] == 1
    assert attached.sync(*inside, "--reconcile")["deleted"] == 0
    source = attached.library.client.call("GET", f"/{attached.library.name}/_source/d4")
    assert source["sciret"]["title"] == source["bib"]["titel"] == "Renamed 4"


def test_a_migration_takes_along_what_is_followed(attached: Attached, sciret: Sciret) -> None:
    """The new version goes on where the old one was."""
    attached.sync()
    migrated = sciret("index", "migrate", "--rebuild", "--canaries", "0", "--store", attached.store)
    assert migrated.exit_code == 0, migrated.output
    attached.library.put(renamed(6, "2024-06-11T12:00:00Z"))
    assert attached.sync()["written"] == 1
    assert attached.title("d6") == "Renamed 6"


def test_pass_after_pass_until_it_is_told_to_stop(attached: Attached, interruptible: Sequence[str]) -> None:
    """A change comes through within a pass, and Ctrl-C ends it."""
    command = [*interruptible, "sync", "--into", attached.store, "--every", "1s", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            said: list[str] = []
            assert process.stdout
            reading = threading.Thread(target=lambda: said.extend(iter(process.stdout.readline, "")), daemon=True)  # type: ignore[union-attr]
            reading.start()
            wait_until(lambda: "written" in "".join(said))
            attached.library.put(renamed(9, "2024-06-11T12:00:00Z"))
            wait_until(lambda: '"written": 1' in "".join(said))
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        finally:
            process.kill()
    assert attached.title("d9") == "Renamed 9"


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_documents_without_the_field_are_spoken_of(attached: Attached) -> None:
    attached.library.put({"undated": {"bib": {"titel": "No date"}}})
    assert "1 documents have no updated_at" in attached.run("--by", "updated_at").stderr


def test_what_cannot_be_is_refused(attached: Attached, sciret: Sciret, opensearch: Server) -> None:
    result = attached.run("--by", "shelf")
    assert result.exit_code == 2
    assert "there are revision, updated_at" in result.stderr
    result = attached.run("--every", "60s", "--reconcile")
    assert result.exit_code == 2
    assert "every night" in result.stderr
    result = attached.run("--every", "often")
    assert result.exit_code == 2
    result = sciret("sync", "--into", f"{attached.store}-other")
    assert result.exit_code == 1
    assert "sciret attach" in result.stderr
