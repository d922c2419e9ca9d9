"""docker/Dockerfile: its RUN lines run here, in a clean environment, with what its COPY lines bring.

No engine runs here: base images, users and layers are not tested (docker/README.md says what was not run).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"


@dataclass
class Stage:
    name: str
    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list)
    """Name and the rest of the line, in order."""

    def all(self, name: str) -> list[str]:
        return [rest for each, rest in self.instructions if each == name]


def read_stages(path: Path) -> dict[str, Stage]:
    text = re.sub(r"\\\n\s*", " ", path.read_text(encoding="utf-8"))
    stages: dict[str, Stage] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, rest = line.split(maxsplit=1)
        if name == "FROM":
            base, _, alias = rest.partition(" AS ")
            stages[alias] = Stage(alias, base)
        else:
            stages[list(stages)[-1]].instructions.append((name, rest))
    return stages


def admitted(root: Path, ignore: Path) -> list[str]:
    """What `COPY . .` brings: of a list that begins by leaving out everything, what it lets in again."""
    first, *rest = [line for line in ignore.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    assert first == "*"
    return [name for pattern in rest if pattern.startswith("!") for name in _files(root, pattern[1:])]


def _files(root: Path, pattern: str) -> list[str]:
    tracked = subprocess.run(["git", "ls-files", "--", pattern], cwd=root, capture_output=True, text=True, check=True)  # noqa: S607
    return tracked.stdout.split()


@dataclass(frozen=True)
class Sandbox:
    """A folder in the place of an image's root: absolute paths of the Dockerfile are taken from there."""

    root: Path
    commands: Path
    """Of a clean Python, in the place of the base image's."""

    def place(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def run(self, line: str, folder: str) -> None:
        """A RUN line, by the shell, in its WORKDIR."""
        here = re.sub(r"(?<=[\s=])/(src|wheels|opt)\b", lambda match: f"{self.root}/{match[1]}", line)
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SCIRET_", "VIRTUAL"))
        }
        environment = {
            **kept,
            "PATH": f"{self.commands}:/usr/bin:/bin",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_COMPILE": "1",
        }
        done = subprocess.run(
            ["/bin/sh", "-ec", here],
            cwd=self.place(folder),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


STAGES = read_stages(DOCKER / "Dockerfile")


def test_the_linter_finds_nothing() -> None:
    """hadolint, at its strictest."""
    linter = Path(sys.executable).parent / "hadolint"
    done = subprocess.run(
        [linter, "--failure-threshold", "style", DOCKER / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_gpu_image_installs_the_libraries_that_are_in_its_list() -> None:
    """The extra alone leaves CUDA and cuDNN to the machine, and the image is the machine."""
    wanted = (DOCKER / "requirements-gpu.in").read_text(encoding="utf-8").splitlines()[-1]
    assert any(f"'{wanted}'" in line for line in STAGES["build-gpu"].all("RUN"))


def test_every_base_image_has_an_exact_version() -> None:
    """One that is `latest` is another one tomorrow."""
    for base in {stage.base for stage in STAGES.values()} - set(STAGES):
        assert re.search(r":\d+\.\d+\.\d+(-[a-z]+)*$", base), base


def test_both_images_run_as_a_user_without_privileges() -> None:
    """They come from the one stage that says so, and change nothing of it."""
    assert STAGES["runtime"].all("USER") == ["10001:10001"]
    for name in ("cpu", "gpu"):
        assert STAGES[name].base == "runtime"
        assert STAGES[name].all("USER") == []
    assert list(STAGES)[-1] == "cpu"  # what a build without --target makes


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    """The RUN lines of the CPU image, each run in its folder with what was copied there."""
    root = tmp_path_factory.mktemp("image")
    subprocess.run([sys.executable, "-m", "venv", root / "python"], check=True)
    sandbox = Sandbox(root, root / "python" / "bin")
    (root / "opt").mkdir()
    for name in ("tools", "wheel", "build-cpu"):
        run_stage(sandbox, STAGES[name])
    return sandbox


def run_stage(sandbox: Sandbox, stage: Stage) -> None:
    for name, rest in stage.instructions:
        if name == "COPY" and not rest.startswith("--from=wheel"):  # those are there: the stages share a root
            copy(sandbox, rest)
        elif name == "RUN":
            sandbox.run(rest, "/src")


def copy(sandbox: Sandbox, what: str) -> None:
    source, target = what.split()
    allowed = admitted(ROOT, DOCKER / "Dockerfile.dockerignore")
    for name in allowed if source == "." else [source]:
        assert name in allowed
        file = sandbox.place("/src") / (name if source == "." else Path(target) / Path(name).name)
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, file)


def test_the_run_lines_give_a_working_sciret(sandbox: Sandbox, tmp_path: Path) -> None:
    """The health check of the image passes, and a paper is found."""
    commands = sandbox.place("/opt/sciret/bin")
    (health,) = STAGES["runtime"].all("HEALTHCHECK")
    command = json.loads(health.partition("CMD ")[2])
    environment = {"PATH": f"{commands}:/usr/bin:/bin", "HOME": str(tmp_path)}

    def run(command: list[str], stdin: str = "") -> str:
        return subprocess.run(
            [commands / command[0], *command[1:]],
            cwd=tmp_path,
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert "fingerprint" in run(command)
    run(["sciret", "ingest", "-", "--format", "jsonl"], '{"id": "a", "title": "Sea ice is thin"}')
    assert json.loads(run(["sciret", "search", "ice", "--json"]))["hits"][0]["id"] == "a"


def test_the_image_has_the_versions_of_the_list(sandbox: Sandbox) -> None:
    """And nothing besides: what is installed is what was hashed."""
    listed = subprocess.run(
        [sandbox.place("/opt/sciret/bin/pip"), "list", "--format", "json"], capture_output=True, check=True
    )
    installed = {each["name"].lower(): each["version"] for each in json.loads(listed.stdout)}
    extra = {"pip", "setuptools", "sciret"}
    pins = locked("cpu")
    assert {name.replace("_", "-"): version for name, version in installed.items() if name not in extra}.items() <= pins


def locked(flavour: str) -> Any:
    """Names and versions of a list, those for other machines among them."""
    text = (DOCKER / f"requirements-{flavour}.txt").read_text(encoding="utf-8")
    return {(name.lower(), version) for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE)}


@pytest.mark.parametrize("flavour", ["cpu", "gpu"])
def test_the_lists_have_what_pyproject_asks_for(flavour: str) -> None:
    """`docker/lock.sh` writes them anew after a change."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = dict(sorted(locked(flavour)))
    for text in (*project["dependencies"], *project["optional-dependencies"][flavour]):
        wanted = Requirement(text)
        pinned = pins.get(wanted.name.lower().replace("_", "-"))
        assert pinned is not None, f"{text}: run docker/lock.sh"
        assert wanted.specifier.contains(pinned), f"{text}: run docker/lock.sh"
