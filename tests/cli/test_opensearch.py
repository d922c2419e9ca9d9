"""`sciret opensearch`: up, status, down, each in a process of its own as on a command line."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sciret.connector.artefacts import load_recipe, prepare_home
from sciret.connector.local_node import fetch, free_ports
from sciret.connector.local_process import cache_folder
from sciret.connector.local_server import run_folder

Command = Callable[..., "subprocess.CompletedProcess[str]"]
COMMAND = [sys.executable, "-m", "sciret.cli.main", "opensearch"]


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of our own, so that nobody's server in the background is touched; the homes are the ones we have."""
    with run_folder() as folder:
        home = prepare_home(load_recipe("3.6.0"), cache_folder() / "opensearch")
        (folder / "opensearch").mkdir()
        (folder / "opensearch" / home.name).symlink_to(home)
        monkeypatch.setenv("SCIRET_CACHE", str(folder))
        yield folder
        subprocess.run([*COMMAND, "down"], check=True, capture_output=True)


@pytest.fixture
def opensearch_command(cache: Path) -> Command:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)

    return run


def processes(cache: Path) -> list[str]:
    """All that run on a folder of this cache."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it may end while we look
            found.append(entry.read_text(encoding="utf-8", errors="replace"))
    return [command for command in found if f"opensearch.path.conf={cache}" in command]


def test_up_status_down(opensearch_command: Command, cache: Path) -> None:
    """It outlives the command that started it, is found again, and is gone after `down`."""
    port = str(free_ports(1)[0])
    started = opensearch_command("up", "--port", port, "--json")
    assert started.returncode == 0, started.stderr
    store = f"http://127.0.0.1:{port}/papers"
    assert json.loads(started.stdout)["store"] == store
    assert fetch(store, "/")[1]["version"]["number"] == "3.6.0"

    again = opensearch_command("up", "--port", port)
    assert (again.returncode, len(processes(cache))) == (0, 1)
    assert "it runs already" in again.stderr
    assert store in opensearch_command("status").stdout

    other = opensearch_command("up", "--port", port, "--version", "2.19.1")
    assert other.returncode == 1
    assert "sciret opensearch down" in other.stderr

    assert fetch(store, "/kept", method="PUT")[0] == 200
    assert opensearch_command("down").returncode == 0
    assert processes(cache) == []
    assert list((cache / "opensearch" / "data").iterdir()) != []
    assert opensearch_command("down", "--wipe").returncode == 0
    assert not (cache / "opensearch" / "data").exists()


def test_none_runs(opensearch_command: Command) -> None:
    """`status` says so by its exit code, and `down` has nothing to do."""
    assert opensearch_command("status").returncode == 1
    assert json.loads(opensearch_command("status", "--json").stdout)["running"] is False
    assert opensearch_command("down").returncode == 0


def test_a_server_whose_up_was_killed_is_still_found(opensearch_command: Command, cache: Path) -> None:
    """What runs was written down before it answers."""
    starting = subprocess.Popen([*COMMAND, "up", "--port", str(free_ports(1)[0])])
    state = cache / "opensearch" / "background.json"
    while not state.exists():
        assert starting.poll() is None
        time.sleep(0.01)
    os.kill(starting.pid, signal.SIGKILL)
    starting.wait()
    assert len(processes(cache)) == 1
    assert opensearch_command("down").returncode == 0
    assert processes(cache) == []


def test_a_taken_port(opensearch_command: Command, cache: Path) -> None:
    """Is not a server that never answers, but an error at once."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = opensearch_command("up", "--port", str(taken.getsockname()[1]))
    assert result.returncode == 2
    assert "--port" in result.stderr
