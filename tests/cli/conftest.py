"""A store of a dozen papers, filled once through the command line with the model that ships."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sciret.cli.main import cli
from sciret.embedded.store import EmbeddedStore

PAPERS = Path(__file__).parent / "papers.jsonl"
Sciret = Callable[..., Result]


@pytest.fixture(autouse=True)
def clean_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of whoever runs the tests, and a working directory of our own."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("SCIRET_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def interruptible() -> Sequence[str]:
    """Starts `sciret` so that Ctrl-C reaches it: background jobs of a shell ignore it, and so do their children."""
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    return sys.executable, "-c", f"{listen}; from sciret.cli.main import main; main()"


@pytest.fixture(scope="session")
def write_jsonl() -> Callable[[Path, Iterable[Mapping[str, Any]]], Path]:
    def write(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def sciret() -> Sciret:
    """Run a command in this process; the result has exit_code, stdout and stderr."""

    def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin, prog_name="sciret")

    return run


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory, sciret: Sciret) -> Path:
    """The store, for tests that only read it."""
    path = tmp_path_factory.mktemp("store") / "papers.db"
    result = sciret("ingest", PAPERS, "--store", path, "--threads", "1")
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    """A copy, for tests that change it."""
    return Path(shutil.copy(filled, tmp_path / "papers.db"))


@pytest.fixture
def with_roles(store: Path) -> Path:
    """A store in which the sentences of `bee` have the roles that a person would give them."""
    with EmbeddedStore.open(store) as opened:
        bee = opened.get(["bee"])["bee"]
        opened.write([replace(bee, roles=("background", "method", "result"))])
    return store
