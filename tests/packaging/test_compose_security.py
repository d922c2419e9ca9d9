"""What compose.yaml makes of OpenSearch's security, on a real server: its scripts, its settings, its users."""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from sciret.connector.artefacts import download, load_recipe, prepare_home, verify
from sciret.connector.local_java import find_java
from sciret.connector.local_node import Login, Node, fetch, free_ports, stop
from sciret.connector.local_process import cache_folder
from sciret.connector.local_server import prepare_runtime, run_folder

DOCKER = Path(__file__).parents[2] / "docker"
VERSION = "2.19.1-security"
PASSWORDS = {"admin_password": 'Ice"and$now 2019', "dashboards_password": "another-long-one"}
DEMO_USERS = ("kibanaserver", "kibanaro", "logstash", "readall", "snapshotrestore", "anomalyadmin")
"""The plugin's own configuration has these, each with its name as its password."""


def settings() -> dict[str, str]:
    """Of the service `opensearch`: what the image's entry script hands on to the server."""
    compose = YAML(typ="safe").load(DOCKER / "compose.yaml")
    environment = compose["services"]["opensearch"]["environment"]
    return {name: value for name, value in environment.items() if re.match(r"[a-z0-9_]+\.[a-z0-9_]+", name)}


@pytest.fixture(scope="module")
def image_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """OpenSearch laid out as in its image: the configuration of the security plugin is beside the server's."""
    recipe = load_recipe(VERSION)
    home = prepare_home(recipe, cache_folder() / "opensearch")
    folder = tmp_path_factory.mktemp("image")
    for name in ("lib", "plugins"):
        (folder / name).symlink_to(home / name)
    (plugin,) = [each for each in recipe.artefacts if "opensearch-security" in each.artefact]
    download([plugin], folder / "downloads")
    verify(plugin, folder / "downloads" / plugin.file_name)
    with zipfile.ZipFile(folder / "downloads" / plugin.file_name) as archive:
        for name in archive.namelist():
            if name.startswith("config/") and name.endswith(".yml"):
                target = folder / "config" / "opensearch-security" / Path(name).name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))
    return folder


def make_users(image_home: Path, folder: Path, passwords: dict[str, str]) -> subprocess.CompletedProcess[str]:
    secrets = folder.with_name("secrets")
    secrets.mkdir(exist_ok=True)
    for name, password in passwords.items():
        (secrets / name).write_text(password, encoding="utf-8")
    folder.mkdir(exist_ok=True)
    owner = f"{os.getuid()}:{os.getgid()}"
    java = find_java(*load_recipe(VERSION).java)
    return subprocess.run(
        ["/bin/bash", DOCKER / "security.sh", image_home, secrets, folder, owner],
        env={"PATH": "/usr/bin:/bin", "JAVA_HOME": str(java.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def server(image_home: Path) -> Iterator[Node]:
    """Started with the settings of compose.yaml; only where it listens is our own affair."""
    with run_folder() as folder:
        config = folder / "config"
        config.mkdir()
        (config / "certificates").mkdir()
        owner = f"{os.getuid()}:{os.getgid()}"
        subprocess.run(["/bin/sh", DOCKER / "certificates.sh", config / "certificates", owner], check=True)
        made = make_users(image_home, config / "opensearch-security", PASSWORDS)
        assert made.returncode == 0, made.stderr
        (folder / "printed.txt").write_text(made.stdout + made.stderr, encoding="utf-8")
        given = {
            name: value for name, value in settings().items() if name not in ("network.host", "bootstrap.memory_lock")
        }
        http, transport = free_ports(2)
        login = Login("admin", PASSWORDS["admin_password"], config / "certificates" / "ca.pem")
        node = Node("opensearch", folder, http, transport, prepare_runtime(VERSION, "384m", quick=True), given, login)
        try:
            node.start(until_parent_ends=True)
            node.wait()
            yield node
        finally:
            stop([node])


def test_the_administrator_gets_in_with_the_password_of_the_environment(server: Node) -> None:
    """And may do everything; TLS was verified on the way, against the authority that the script made."""
    status, found = fetch(server.url, "/_plugins/_security/authinfo", server.login)
    assert status == 200
    assert "all_access" in found["roles"]


def test_dashboards_gets_in_as_itself(server: Node) -> None:
    assert server.login is not None
    login = Login("kibanaserver", PASSWORDS["dashboards_password"], server.login.ca)
    status, found = fetch(server.url, "/_plugins/_security/authinfo", login)
    assert status == 200
    assert "kibana_server" in found["roles"]


def test_the_health_check_of_compose_passes(server: Node, tmp_path: Path) -> None:
    """The command itself, with the port of this server."""
    compose = YAML(typ="safe").load(DOCKER / "compose.yaml")
    kind, command = compose["services"]["opensearch"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    here = command.replace("$$", "$").replace("localhost:9200", f"localhost:{server.port}")
    subprocess.run(["/bin/sh", "-c", here], cwd=server.folder, check=True)


@pytest.mark.parametrize("user", ["admin", *DEMO_USERS])
def test_no_demo_user_gets_in(server: Node, user: str) -> None:
    """Everybody knows their passwords."""
    assert server.login is not None
    assert fetch(server.url, "/", Login(user, user, server.login.ca))[0] == 401


def test_users_are_made_once(server: Node, image_home: Path) -> None:
    """A second start leaves them as they are, whatever the environment says by then."""
    folder = server.folder / "config" / "opensearch-security"
    before = (folder / "internal_users.yml").read_text(encoding="utf-8")
    again = make_users(image_home, folder, dict.fromkeys(PASSWORDS, "something else altogether"))
    assert again.returncode == 0
    assert (folder / "internal_users.yml").read_text(encoding="utf-8") == before


@pytest.mark.parametrize("password", ["", "short"])
def test_a_short_password_is_refused_before_anything_is_made(image_home: Path, tmp_path: Path, password: str) -> None:
    """With the name of the one that is meant, and without the password itself."""
    made = make_users(image_home, tmp_path / "security", {**PASSWORDS, "admin_password": password})
    assert made.returncode != 0
    assert "admin_password" in made.stderr
    assert list((tmp_path / "security").iterdir()) == []


def test_passwords_are_not_in_what_the_script_printed_or_wrote(server: Node) -> None:
    """Only their hashes are."""
    folder = server.folder / "config" / "opensearch-security"
    written = "".join(file.read_text(encoding="utf-8") for file in folder.iterdir())
    printed = (server.folder / "printed.txt").read_text(encoding="utf-8")
    assert "security: made" in printed
    for password in PASSWORDS.values():
        assert password not in printed + written
    users: dict[str, Any] = YAML(typ="safe").load(folder / "internal_users.yml")
    assert set(users) == {"_meta", "admin", "kibanaserver"}
    assert json.dumps(users).count("$2y$") == 2
