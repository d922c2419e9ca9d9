"""Homes of OpenSearch: put together from pinned artefacts, or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sciret.connector import artefacts
from sciret.connector.artefacts import LOCK_FILE, Artefact, Recipe, download, load_recipe, prepare_home
from sciret.connector.local_process import cache_folder
from sciret.errors import SettingsError, StoreError

SMALL = {
    "artefact": "org.opensearch.plugin:mapper-extras-client:2.19.1:jar",
    "sha256": "93e85f305ddc3070fea5b83cc8d962bdcd30df20638352b02cf57276cc2bc5d5",
    "into": "modules/mapper-extras",
}


@pytest.fixture
def recipe(tmp_path: Path) -> Callable[..., Recipe]:
    """Of a home that is one small jar; `changes` are made to its entry in the lock file."""

    def make(**changes: str) -> Recipe:
        home = {"java": [17, 23], "artefacts": [{**SMALL, **changes}], "modules": {"mapper-extras": {"classname": "M"}}}
        lock = tmp_path / "lock.json"
        lock.write_text(json.dumps({"runtime": [], "homes": {"small": home}}))
        return load_recipe("small", lock)

    return make


def test_everything_is_pinned() -> None:
    """To one version and one sha256; the hosts that it comes from are Maven's business."""
    for name in json.loads(LOCK_FILE.read_text())["homes"]:
        for artefact in load_recipe(name).artefacts:
            assert re.fullmatch(r"[0-9a-f]{64}", artefact.sha256)
            assert re.fullmatch(r"[\w.-]+:[\w.-]+:\d[\w.]*:(zip|jar)", artefact.artefact)
    assert "://" not in LOCK_FILE.read_text()


def test_a_home_is_complete_and_readable(opensearch: object) -> None:
    """Libraries, modules and plugins are where the server looks for them, for whoever it runs as."""
    home = prepare_home(load_recipe("3.6.0"), cache_folder() / "opensearch")
    plugins = {folder.name for folder in (home / "plugins").iterdir()}
    assert plugins == {"opensearch-knn", "opensearch-neural-search"}
    for plugin in plugins:
        assert f"name={plugin}\n" in (home / "plugins" / plugin / "plugin-descriptor.properties").read_text()
    assert (home / "lib" / "opensearch-3.6.0.jar").is_file()
    assert not (home / "modules" / "ingest-geoip").exists()
    assert all(file.stat().st_mode & 0o444 == 0o444 for file in home.rglob("*"))


def test_security_adds_to_the_same_version() -> None:
    plain, secured = load_recipe("2.19.1"), load_recipe("2.19.1-security")
    assert set(plain.artefacts) < set(secured.artefacts)
    assert (secured.version, secured.java, secured.modules) == (plain.version, plain.java, plain.modules)
    assert "plugins/opensearch-security" in {artefact.into for artefact in secured.artefacts}


def test_an_unknown_version() -> None:
    with pytest.raises(SettingsError, match=r"3\.6\.0, 2\.19\.1"):
        load_recipe("1.0.0")


def test_an_artefact_with_another_sha256_is_refused(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    """Before anything of it is unpacked, and nothing of the home stays."""
    cache = tmp_path / "cache"
    with pytest.raises(StoreError, match=SMALL["sha256"]):
        prepare_home(recipe(sha256="0" * 64), cache)
    assert [path.name for path in cache.iterdir() if path.is_dir()] == []


def test_many_ask_for_it_at_once(
    recipe: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One puts it together, the others wait for it."""
    downloads: list[Path] = []

    def counted(wanted: tuple[Artefact, ...], folder: Path) -> None:
        downloads.append(folder)
        download(wanted, folder)

    monkeypatch.setattr(artefacts, "download", counted)
    made = recipe()
    with ThreadPoolExecutor(4) as pool:
        homes = list(pool.map(lambda _: prepare_home(made, tmp_path / "cache"), range(4)))
    assert len(downloads) == 1
    assert len(set(homes)) == 1
    made_of = {file.name for file in (homes[0] / "modules" / "mapper-extras").iterdir()}
    assert made_of == {"mapper-extras-client-2.19.1.jar", "plugin-descriptor.properties"}


def test_a_changed_lock_file_means_another_home(recipe: Callable[..., Recipe]) -> None:
    """So that an old one in a cache is not taken for it."""
    assert recipe().folder_name == recipe().folder_name
    assert recipe().folder_name != recipe(sha256="0" * 64).folder_name
    assert recipe().folder_name != recipe(into="modules/other").folder_name


def test_an_artefact_that_maven_does_not_find(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"Maven could not download OpenSearch.*It said: .*no-such-thing"):
        prepare_home(recipe(artefact="org.opensearch.plugin:no-such-thing:2.19.1:jar"), tmp_path / "cache")


def test_without_maven(recipe: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence says what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreError, match="apt-get install maven"):
        prepare_home(recipe(), tmp_path / "cache")
