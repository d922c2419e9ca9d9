"""Processes and folders of local servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sciret.connector import local_process
from sciret.connector.local_process import (
    Identity,
    cache_folder,
    check_reachable,
    command_line,
    end,
    is_alive,
    is_reachable,
    make_reachable,
    spawn,
)
from sciret.errors import StoreError

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"


def test_one_that_does_not_listen_is_killed() -> None:
    """After the time it was given, and the call returns only when it is gone."""
    with subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE) as deaf:
        assert deaf.stdout is not None
        deaf.stdout.readline()
        end([deaf.pid], patience=0.2)
        assert not is_alive(deaf.pid)
        assert command_line(deaf.pid) == ""


def test_one_that_listens_is_not_killed(tmp_path: Path) -> None:
    """A server that is stopped writes what it has to."""
    code = (
        f"import signal, sys, time; signal.signal(15, lambda *_: (open({str(tmp_path / 'bye')!r}, 'w'), sys.exit()));"
    )
    with subprocess.Popen([sys.executable, "-c", f"{code} print(1, flush=True); time.sleep(60)"], stdout=-1) as polite:
        assert polite.stdout is not None
        polite.stdout.readline()
        end([polite.pid], patience=30)
    assert (tmp_path / "bye").exists()


def test_ending_what_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
        end([gone.pid])


def test_a_zombie_is_dead() -> None:
    """Also one whose parent does not care: a server must not be waited for in vain."""
    code = "import os, time; pid = os.fork() or os._exit(0); print(pid, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as careless:
        assert careless.stdout is not None
        zombie = int(careless.stdout.readline())
        deadline = time.monotonic() + 10
        while is_alive(zombie) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not is_alive(zombie)
        assert command_line(zombie) == ""
        os.kill(careless.pid, signal.SIGKILL)


def test_a_server_has_no_privileges(tmp_path: Path) -> None:
    """It runs as somebody who is not root, and in no group of root's."""
    log = tmp_path / "log.txt"
    with spawn(["/usr/bin/env", "id"], Path("/"), log, until_parent_ends=True) as process:
        process.wait()
    said = log.read_text()
    assert "uid=" in said
    assert "uid=0(" not in said
    assert "groups=0(" not in said


def test_private_folders_are_not_reachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says which, and what to choose instead; where the server runs as ourselves there is no need."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    assert not is_reachable(private / "cache")
    assert is_reachable(Path("/"))
    monkeypatch.setattr(local_process, "unprivileged", lambda: Identity(1, 1))
    with pytest.raises(StoreError, match=r"SCIRET_CACHE is .*private/cache.*choose a folder"):
        check_reachable(private / "cache", "SCIRET_CACHE")
    monkeypatch.setattr(local_process, "unprivileged", lambda: None)
    check_reachable(private / "cache", "SCIRET_CACHE")


def test_made_folders_are_reachable_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        made = make_reachable(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert {made.stat().st_mode & 0o777, made.parent.stat().st_mode & 0o777} == {0o755}


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SCIRET_CACHE, the user's own, or for root the machine's where its own is private."""
    monkeypatch.setattr(local_process, "unprivileged", lambda: None)
    monkeypatch.delenv("SCIRET_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "sciret"
    monkeypatch.setenv("SCIRET_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("SCIRET_CACHE")
    monkeypatch.setattr(local_process, "unprivileged", lambda: Identity(1, 1))
    tmp_path.chmod(0o700)
    assert cache_folder() == Path("/var/cache/sciret")
