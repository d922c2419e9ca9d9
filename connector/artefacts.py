"""A home of OpenSearch, assembled from Maven artefacts that `opensearch.lock.json` pins by sha256.

Maven downloads, so that mirrors and proxies are what the machine's own Maven settings say; nothing is unpacked before
its sha256 is the one in the lock file.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from sciret.connector.local_process import make_reachable
from sciret.errors import SettingsError, StoreError

LOCK_FILE = Path(__file__).parent / "opensearch.lock.json"
LAYOUT = 1
"""Counted up when this file puts a home together in another way, so that homes in caches are made anew."""
LEFT_OUT = ("config/", "logs/", "modules/ingest-geoip/")
"""Of the distribution: every node gets a configuration of its own, and geoip would want to download."""
MAVEN_PLUGIN = "3.8.1"


@dataclass(frozen=True, slots=True)
class Artefact:
    """One file of a Maven repository, and where its content belongs in a home."""

    artefact: str
    """group:name:version:type"""
    sha256: str
    into: str
    only: tuple[str, ...] = ()
    """Of a jar, the entries to keep: the beginnings of their names. All if empty."""

    @property
    def file_name(self) -> str:
        _, name, version, kind = self.artefact.split(":")
        return f"{name}-{version}.{kind}"


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that a home is made of."""

    name: str
    version: str
    java: tuple[int, int]
    """Oldest and newest major version that it runs on."""
    artefacts: tuple[Artefact, ...]
    modules: Mapping[str, Mapping[str, str]]
    """Descriptors for modules whose artefact is a bare jar: folder name to properties."""
    policies: Mapping[str, Sequence[str]]
    """What Java's security manager, which 2.x has, must allow such a module."""

    @property
    def folder_name(self) -> str:
        """Changes with the lock file, so that an old home is never taken for a new one."""
        content = json.dumps([LAYOUT, LEFT_OUT, asdict(self)], sort_keys=True)
        return f"{self.name}-{hashlib.sha256(content.encode()).hexdigest()[:10]}"


def load_recipe(name: str, lock_file: Path = LOCK_FILE) -> Recipe:
    """`3.6.0`, `2.19.1` or `2.19.1-security`; the last is the one before plus what its own entry adds."""
    lock = json.loads(lock_file.read_text(encoding="utf-8"))
    if name not in lock["homes"]:
        names = ", ".join(lock["homes"])
        raise SettingsError(f"there is no OpenSearch {name} that could be put together from Maven; there are {names}")
    entry = lock["homes"][name]
    base = lock["homes"][entry["base"]] if "base" in entry else {}
    artefacts = [*lock["runtime"], *base.get("artefacts", ()), *entry["artefacts"]]
    return Recipe(
        name,
        entry.get("base", name),
        tuple(entry.get("java") or base["java"]),
        tuple(_artefact(each) for each in artefacts),
        {**base.get("modules", {}), **entry.get("modules", {})},
        {**base.get("policies", {}), **entry.get("policies", {})},
    )


def _artefact(entry: Mapping[str, Any]) -> Artefact:
    return Artefact(entry["artefact"], entry["sha256"], entry["into"], tuple(entry.get("only", ())))


def prepare_home(recipe: Recipe, cache: Path) -> Path:
    """The home in the cache, assembled if it is not there yet. Several processes may ask for it at once."""
    home = cache / recipe.folder_name
    if home.is_dir():
        return home
    make_reachable(cache)
    with exclusive(cache / f"{recipe.folder_name}.lock"):
        if not home.is_dir():
            _assemble(recipe, home)
    return home


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """One process at a time; the kernel lets go of the lock when a process dies."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _assemble(recipe: Recipe, home: Path) -> None:
    """In a folder beside it that takes its name at the end, so that a home is complete or not there."""
    with tempfile.TemporaryDirectory(prefix="assembling-", dir=home.parent) as temporary:
        made, downloads = Path(temporary) / "home", Path(temporary) / "downloads"
        download(recipe.artefacts, downloads)
        for artefact in recipe.artefacts:
            verify(artefact, downloads / artefact.file_name)
        for artefact in recipe.artefacts:
            _place(artefact, downloads / artefact.file_name, made / artefact.into)
        for name, properties in recipe.modules.items():
            _describe(made / "modules" / name, {**_descriptor(name, recipe.version), **properties})
        for name, permissions in recipe.policies.items():
            _allow(made / "modules" / name, permissions)
        make_readable(made)
        made.rename(home)


def download(artefacts: Sequence[Artefact], folder: Path) -> None:
    """By one run of Maven, from wherever its settings say."""
    maven = shutil.which("mvn")
    if maven is None:
        raise StoreError(
            "OpenSearch is downloaded by Maven, and there is no `mvn` in PATH: install it "
            "(Debian: apt-get install maven, macOS: brew install maven) and try again"
        )
    folder.mkdir(parents=True)
    project = folder / "pom.xml"
    project.write_text(_project(artefacts, folder), encoding="utf-8")
    # -U: what could not be downloaded once is tried again, not taken as missing until tomorrow.
    command = [
        maven,
        "--batch-mode",
        "--quiet",
        "-U",
        "-Dstyle.color=never",
        "--file",
        str(project),
        "process-resources",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the paths are ours
    if done.returncode != 0:
        raise StoreError(
            f"Maven could not download OpenSearch; is a repository reachable? It said: {_reason(done.stdout)}"
        )


def _reason(output: str) -> str:
    """The one line of Maven's that says something."""
    errors = [line.partition("[ERROR]")[2].strip() for line in output.splitlines() if "[ERROR]" in line]
    return errors[0].partition("on project home: ")[2].partition(" -> [Help")[0] or errors[0] if errors else output


def _project(artefacts: Sequence[Artefact], folder: Path) -> str:
    """A Maven project that does nothing but copy the artefacts into the folder."""
    items = []
    for artefact in artefacts:
        group, name, version, kind = map(escape, artefact.artefact.split(":"))
        items.append(
            f"<artifactItem><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
            f"<type>{kind}</type><destFileName>{escape(artefact.file_name)}</destFileName></artifactItem>"
        )
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>sciret</groupId><artifactId>home</artifactId><version>1</version>
<packaging>pom</packaging><build><plugins><plugin>
<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>{MAVEN_PLUGIN}</version>
<executions><execution><phase>process-resources</phase><goals><goal>copy</goal></goals><configuration>
<outputDirectory>{escape(str(folder))}</outputDirectory><artifactItems>{"".join(items)}</artifactItems>
</configuration></execution></executions></plugin></plugins></build></project>
"""


def verify(artefact: Artefact, file: Path) -> None:
    """Refuse a file that is not the one that was pinned."""
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != artefact.sha256:
        raise StoreError(
            f"{artefact.artefact} is refused: its sha256 is {found}, but {LOCK_FILE.name} has {artefact.sha256}. "
            f"Remove it from the local Maven repository and try again; if it stays so, do not trust the mirror."
        )


def _place(artefact: Artefact, file: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    if artefact.only:
        _copy_part(file, target / file.name, artefact.only)
    elif file.suffix == ".zip":
        _unpack(file, target)
    else:
        shutil.copy(file, target / file.name)


def _unpack(file: Path, target: Path) -> None:
    """Without the one folder that a distribution has at its top."""
    with zipfile.ZipFile(file) as archive:
        top = f"{file.stem}/"
        strip = all(name.startswith(top) for name in archive.namelist())
        for entry in archive.infolist():
            if strip:
                entry.filename = entry.filename.removeprefix(top)
            if entry.filename and not entry.filename.startswith(LEFT_OUT):
                archive.extract(entry, target)


def _copy_part(file: Path, target: Path, only: tuple[str, ...]) -> None:
    with zipfile.ZipFile(file) as archive, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for entry in archive.infolist():
            if entry.filename.startswith(only):
                copy.writestr(entry, archive.read(entry))


def _descriptor(name: str, version: str) -> dict[str, str]:
    return {
        "name": name,
        "description": f"The module {name}",
        "version": version,
        "opensearch.version": version,
        "java.version": "11",
        "has.native.controller": "false",
    }


def _describe(folder: Path, properties: Mapping[str, str]) -> None:
    lines = [f"{name}={value}\n" for name, value in properties.items()]
    (folder / "plugin-descriptor.properties").write_text("".join(lines), encoding="utf-8")


def _allow(folder: Path, permissions: Sequence[str]) -> None:
    lines = [f"  permission {permission};\n" for permission in permissions]
    (folder / "plugin-security.policy").write_text(f"grant {{\n{''.join(lines)}}};\n", encoding="utf-8")


def make_readable(folder: Path) -> None:
    """For the unprivileged user that the server runs as, whatever our umask is."""
    for place, _, files in os.walk(folder):
        Path(place).chmod(0o755)
        for file in (Path(place) / name for name in files):
            file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
