"""The folder a bundle is written to: never half a bundle, never anything lost that is not a bundle."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from sciret.errors import BundleError

DESCRIPTION = "bundle.json"


def check_target(out: Path, force: bool) -> None:
    """Refuse before hours of work what would be refused after; make the folder above."""
    if out.exists() and not out.is_dir():
        raise BundleError(f"{out} is a file; give a folder that is empty or not there yet")
    if out.is_dir() and any(out.iterdir()):
        if not (out / DESCRIPTION).is_file():
            raise BundleError(f"{out} is not empty and not a bundle; give a folder that is empty or not there yet")
        if not force:
            raise BundleError(f"{out} is a bundle already; choose another folder, or replace it with --force")
    out.parent.mkdir(parents=True, exist_ok=True)


def put_in_place(made: Path, out: Path) -> None:
    """Rename a finished folder to `out`. Of a bundle that was there, files that are not its own (a model card) stay."""
    if not out.exists():
        made.rename(out)
        return
    for path in _not_described(out):
        shutil.copy2(path, made)
    with tempfile.TemporaryDirectory(dir=made.parent) as aside:
        out.rename(Path(aside, "replaced"))
        made.rename(out)


def _not_described(folder: Path) -> list[Path]:
    description = folder / DESCRIPTION
    if not description.is_file():
        return []
    own = {DESCRIPTION, *json.loads(description.read_text(encoding="utf-8")).get("files", ())}
    return [path for path in folder.iterdir() if path.is_file() and path.name not in own]
