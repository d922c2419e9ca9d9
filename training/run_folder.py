"""The folder of a training run, and what it says about how it came about.

run.json          configuration, seed, hashes of the data, versions, git revision
log.jsonl         what was measured on the way; curves.svg shows it
data/             prepared training data
checkpoints/      to go on from
model/            the result: a checkpoint that `sciret export` reads
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from sciret import __version__
from sciret.encoders.bundle import sha256
from sciret.errors import SettingsError
from sciret.training.casper_folder import MODEL
from sciret.training.configuration import Training
from sciret.training.journal import Journal

RUN = "run.json"
TRIPLETS = "triplets"
PACKAGES = ("torch", "transformers", "tokenizers", "numpy")
PATHS = ("model", "papers", "triplets", "keyphrases", "states")
"""Fields that say where things lay; what they were is known by name and hash."""
IDLE = ("recompute", "chunk", "keyphrase_bias")
"""Fields that runs of a head had once, and that did nothing there."""
T = TypeVar("T", bound=Training)


class RunFolder:
    """Paths of a run, and its description."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.checkpoints = folder / "checkpoints"
        self.model = folder / MODEL
        self.curves = folder / "curves.svg"
        self.journal = Journal(folder / "log.jsonl")

    @property
    def has_checkpoint(self) -> bool:
        return any(self.checkpoints.glob("step-*"))

    def begin(self, kind: str, configuration: Training, hashes: Mapping[str, str], world: int) -> None:
        """Describe a new run."""
        description = {
            "kind": kind,
            "configuration": asdict(configuration),
            "data": dict(hashes),
            "processes": world,
            **surroundings(),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / RUN).write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def clear(self) -> None:
        """Make room for a new run. One that ended before its first checkpoint, such as for a fault in the data, has
        nothing to lose; only its triplets are kept, since they are known by hash. Anything else in the folder stays."""
        began = (self.folder / RUN).is_file() and not self.has_checkpoint and not self.model.exists()
        if self.folder.is_file() or (self.folder.is_dir() and any(self.folder.iterdir()) and not began):
            raise SettingsError(
                f"{self.folder} is there already; give a folder that is not, or go on with the run in it: --resume"
            )
        self.journal.path.unlink(missing_ok=True)
        for path in self.data.glob("*"):
            if path.name != TRIPLETS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def description(self, kind: str) -> dict[str, Any]:
        path = self.folder / RUN
        if not path.is_file():
            raise SettingsError(f"{self.folder}: no run to go on with ({RUN} is missing)")
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if found["kind"] != kind:
            raise SettingsError(f"{self.folder}: a run of `sciret train {found['kind']}`, not of `sciret train {kind}`")
        return found

    def configuration(self, kind: str, of: type[T]) -> T:
        """That of the run which is gone on with."""
        known = {field.name for field in fields(of)}
        given = self.description(kind)["configuration"]
        return of.from_dict({name: value for name, value in given.items() if name in known or name not in IDLE})

    def check_data(self, kind: str, hashes: Mapping[str, str]) -> None:
        """A run goes on with the data that it began with."""
        for name, known in self.description(kind)["data"].items():
            if hashes.get(name) != known:
                raise SettingsError(f"{self.folder}: {name} is not what the run began with; start a new one")

    def provenance(self, kind: str) -> dict[str, Any]:
        """What a model's own description keeps of the run."""
        found = self.description(kind)
        configuration = {name: value for name, value in found["configuration"].items() if name not in PATHS}
        kept = {name: found[name] for name in ("data", "sciret", "git", "versions")}
        return {"configuration": configuration, **kept}


def hashes_of(configuration: Training, *more: str) -> dict[str, str]:
    """sha256 of the files that a run reads, by their names."""
    names = (*configuration.papers, *more, *([configuration.keyphrases] if configuration.keyphrases else []))
    for name in names:
        if not Path(name).is_file():
            raise SettingsError(f"{name}: no such file")
    return {Path(name).name: sha256(Path(name)) for name in names}


def surroundings() -> dict[str, Any]:
    return {
        "sciret": __version__,
        "git": git_revision(Path(__file__).parent),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
    }


def git_revision(folder: Path) -> str | None:
    """Of the checkout that sciret runs from, with a + where something in it was changed; None when installed."""
    git = shutil.which("git")
    if git is None:
        return None

    def ask(*arguments: str) -> str | None:
        # S603: every argument is written here.
        answer = subprocess.run([git, *arguments], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        return answer.stdout.strip() if answer.returncode == 0 else None

    revision = ask("rev-parse", "HEAD")
    if revision is None or ask("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    return revision + ("+" if ask("status", "--porcelain", "--untracked-files=no") else "")
