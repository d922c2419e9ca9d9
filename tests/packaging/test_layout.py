"""The rooms at the root, the two tables of pyproject.toml and the links for type checkers say the same."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = {"benchmarks", "docker", "docs", "examples", "tests", "typings"}
"""Folders at the root that are not shipped as code."""


def _rooms() -> set[str]:
    return {folder.parent.name for folder in ROOT.glob("*/__init__.py")} - TOOLS - {"core"}


def _setuptools() -> dict[str, object]:
    tables: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "setuptools"
    ]
    return tables


def test_every_room_is_shipped_under_its_own_name() -> None:
    """A room that is not listed would be missing from the wheel without a word."""
    tables = _setuptools()
    assert tables["packages"] == ["sciret", *sorted(f"sciret.{room}" for room in _rooms())]
    assert tables["package-dir"] == {"sciret": "core", **{f"sciret.{room}": room for room in _rooms()}}


def test_type_checkers_see_the_same_tree() -> None:
    """One link a room, and one a file of core."""
    links = {link.name: link.resolve() for link in (ROOT / "typings" / "sciret").iterdir() if link.is_symlink()}
    core = {file.name: file for file in (ROOT / "core").iterdir() if file.suffix == ".py" or file.name == "py.typed"}
    assert links == {**{room: ROOT / room for room in _rooms()}, **core}


def test_rooms_are_flat() -> None:
    """A sub-package would not be shipped."""
    nested = [p for room in (*_rooms(), "core") for p in (ROOT / room).glob("*/**/*.py")]
    assert nested == []


def test_the_version_is_said_once() -> None:
    """`sciret --version` and the wheel agree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f'__version__ = "{project["version"]}"' in (ROOT / "core" / "__init__.py").read_text(encoding="utf-8")
