"""The wheel alone, in a clean environment, does what the README promises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPER = {
    "id": "a",
    "title": "Sea ice thickness from altimetry",
    "abstract": "We measure sea ice. It is getting thinner.",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the commands of an environment that has nothing but the wheel and its `cpu` extra."""
    folder = tmp_path_factory.mktemp("wheel")
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "build", "--wheel", "--quiet", "--out-dir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(folder / "venv")], check=True)
    python = str(folder / "venv" / "bin" / "python")
    subprocess.run([*uv, "pip", "install", "--quiet", "--python", python, f"{wheel}[cpu]"], check=True)
    return folder / "venv" / "bin"


def _run(command: Path, *arguments: str, cwd: Path, stdin: str = "") -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SCIRET_", "COV_"))}
    done = subprocess.run(
        [str(command), *arguments], cwd=cwd, input=stdin, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ingest_and_search_work_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    """The default model and everything else that is needed is inside."""
    _run(installed / "sciret", "ingest", "-", "--format", "jsonl", cwd=tmp_path, stdin=json.dumps(PAPER))
    answer = json.loads(_run(installed / "sciret", "search", "ice thinning", "--json", cwd=tmp_path))
    assert [hit["id"] for hit in answer["hits"]] == ["a"]


def test_keyphrases_work_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    """The lists of generic words are inside."""
    text = f"{PAPER['title']}. {PAPER['abstract']}"
    answer = json.loads(_run(installed / "sciret", "keyphrases", text, "--json", cwd=tmp_path))
    assert next(iter(answer["present"])) == "sea ice thickness"


def test_the_runtime_has_no_torch(installed: Path, tmp_path: Path) -> None:
    """The small install stays small."""
    code = "import importlib.util as u; print([m for m in ('torch', 'transformers', 'onnx') if u.find_spec(m)])"
    assert _run(installed / "python", "-c", code, cwd=tmp_path).strip() == "[]"


def test_the_recipes_of_a_local_opensearch_are_inside(installed: Path, tmp_path: Path) -> None:
    """`sciret opensearch up` knows what to download, without the sources."""
    code = "from sciret.connector.artefacts import load_recipe; print(load_recipe('3.6.0').version)"
    assert _run(installed / "python", "-c", code, cwd=tmp_path).strip() == "3.6.0"
