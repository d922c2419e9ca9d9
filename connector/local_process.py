"""Processes of a local OpenSearch: started without privileges, ended for certain."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sciret.errors import StoreError

EXEC = Path(__file__).parent / "local_exec.py"
UNPRIVILEGED = "nobody"
FOR_ROOT = Path("/var/cache/sciret")
PATIENCE = 12.0
"""Seconds that a server has to end by itself before it is killed. It gives itself ten; 2.19 often hangs."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the server runs as. OpenSearch refuses to run as root."""

    uid: int
    gid: int

    def own(self, folder: Path) -> None:
        """Without following links: what the server wrote is not trusted."""
        for place, _, files in os.walk(folder):
            os.chown(place, self.uid, self.gid, follow_symlinks=False)
            for name in files:
                os.chown(Path(place) / name, self.uid, self.gid, follow_symlinks=False)


def unprivileged() -> Identity | None:
    """None where we are not root and the server runs as ourselves."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        raise StoreError(f"OpenSearch does not run as root, and there is no user {UNPRIVILEGED!r}: add one") from None
    return Identity(entry.pw_uid, entry.pw_gid)


def cache_folder() -> Path:
    """SCIRET_CACHE, or the user's cache folder; for root one that an unprivileged server can enter."""
    named = os.environ.get("SCIRET_CACHE")
    if named:
        folder = Path(named).absolute()
        check_reachable(folder, "SCIRET_CACHE")
        return folder
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sciret"
    return folder if unprivileged() is None or is_reachable(folder) else FOR_ROOT


def is_reachable(path: Path) -> bool:
    """Whether anybody may enter it, or run it, and go through all of its parents: those that exist."""
    path = path.absolute()
    return all(place.stat().st_mode & 0o001 for place in (path, *path.parents) if place.exists())


def make_reachable(folder: Path) -> Path:
    """Make it, and parents that are missing, so that the server's user may enter them whatever our umask is."""
    for place in (*reversed(folder.parents), folder):
        if not place.exists():
            place.mkdir(exist_ok=True)
            place.chmod(0o755)
    return folder


def check_reachable(path: Path, what: str) -> None:
    if unprivileged() is not None and not is_reachable(path):
        raise StoreError(
            f"{what} is {path}, where the user {UNPRIVILEGED!r}, whom OpenSearch runs as, may not go: "
            f"choose a folder whose parents everybody may enter"
        )


def spawn(command: Sequence[str], folder: Path, log: Path, *, until_parent_ends: bool) -> subprocess.Popen[bytes]:
    """In a session of its own, so that Ctrl-C is ours alone; stdout and stderr go to the log."""
    who = unprivileged()
    identity = f"{who.uid}:{who.gid}" if who else "-"
    parent = str(os.getpid()) if until_parent_ends else "-"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("JAVA_", "_JAVA", "JDK_"))}
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - the command is ours
            [sys.executable, "-I", "-S", str(EXEC), identity, parent, *command],
            cwd=folder,
            env=clean,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def end(pids: Iterable[int], patience: float = PATIENCE) -> None:
    """SIGTERM, and SIGKILL for those that do not listen; returns when all are gone."""
    left = set(pids)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        left = _left_after(left, patience if number == signal.SIGTERM else PATIENCE)
    if left:
        raise StoreError(f"processes that do not end even when killed, since they hang in the kernel: {sorted(left)}")


def _left_after(pids: set[int], seconds: float) -> set[int]:
    """Those that live on when the time is over."""
    deadline = time.monotonic() + seconds
    while (alive := {pid for pid in pids if is_alive(pid)}) and time.monotonic() < deadline:
        time.sleep(0.05)
    return alive


def is_alive(pid: int) -> bool:
    """A zombie is dead; where it is our own child, this takes it off the list."""
    try:
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return False
    except ChildProcessError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Another process's child that nobody waited for, as under an init that does not reap."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False


def command_line(pid: int) -> str:
    """Of a running process; empty if there is none. Tells our server from a stranger that has its number now."""
    if not Path("/proc/self").exists():
        return _listed(pid)
    for _ in range(50):
        try:
            content = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return ""
        if content or _is_zombie(pid):
            return content.replace(b"\0", b" ").decode(errors="replace")
        time.sleep(0.01)  # empty for the moment in which it becomes another program
    return ""


def _listed(pid: int) -> str:
    """Where there is no /proc, as on macOS."""
    command = [shutil.which("ps") or "ps", "-ww", "-o", "args=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603 - fixed
