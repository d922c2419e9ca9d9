"""The one local OpenSearch that goes on running in the background: `sciret opensearch up`, `status`, `down`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from sciret.connector.artefacts import exclusive, load_recipe
from sciret.connector.local_process import cache_folder, command_line, end, make_reachable
from sciret.connector.local_security import Security
from sciret.connector.local_server import launch_server
from sciret.errors import StoreError

HEAP = "512m"


@dataclass(frozen=True, slots=True)
class Running:
    """What `up` writes down for `status` and `down`."""

    version: str
    urls: tuple[str, ...]
    processes: Mapping[str, int]
    """Folder of each node to its process."""
    folder: str
    security: bool = False

    @property
    def url(self) -> str:
        return self.urls[0]

    def alive(self) -> dict[str, int]:
        """The nodes whose processes are there, and are ours: numbers of processes are given again."""
        return {folder: pid for folder, pid in self.processes.items() if f"{folder}/config" in command_line(pid)}

    def environment(self) -> dict[str, str]:
        """What sciret needs to talk to a server with security; nothing for one without."""
        if not self.security:
            return {}
        security = Security(Path(self.folder) / "security")
        return {
            "SCIRET_OPENSEARCH_USER": "admin",
            "SCIRET_OPENSEARCH_PASSWORD_FILE": str(security.password_file("admin")),
            "SCIRET_OPENSEARCH_CA": str(security.ca),
        }


def up(version: str, port: int, nodes: int, *, security: bool = False) -> tuple[Running, bool]:
    """Start it, unless it runs. Says whether it had to be started."""
    folder = make_reachable(_place())
    with exclusive(folder / "background.lock"):
        found = _read()
        if found and found.alive():
            _check_same(found, (version, port, nodes, security))
            return found, False
        data = make_reachable(folder / "data" / f"{version}-{nodes}{'-security' if security else ''}")
        server = launch_server(
            version,
            data,
            port=port,
            nodes=nodes,
            heap=HEAP,
            quick=False,
            security=security,
            until_parent_ends=False,
        )
        processes = {str(node.folder): node.pid for node in server.nodes if node.pid}
        running = Running(version, tuple(server.urls), processes, str(data), security)
        _write(running)  # before it answers, so that `down` finds it even if we are killed now
        server.wait()
        return running, True


def is_assembled(version: str, *, security: bool = False) -> bool:
    """Whether `up` has nothing left to download."""
    return (_place() / load_recipe(f"{version}-security" if security else version).folder_name).is_dir()


def _check_same(found: Running, wanted: tuple[str, int, int, bool]) -> None:
    port = int(found.url.rpartition(":")[2])
    if wanted != (found.version, port, len(found.urls), found.security):
        nodes = f"{len(found.urls)} node{'s' if len(found.urls) > 1 else ''}"
        raise StoreError(
            f"OpenSearch {found.version} with {nodes} runs already, at {found.url}: "
            f"stop it first (sciret opensearch down)"
        )


def status() -> Running | None:
    """What runs, if anything does."""
    found = _read()
    return found if found and found.alive() else None


def down(*, wipe: bool = False) -> Running | None:
    """Stop it; returns when its processes are gone. `wipe` removes everything that was written into it, too."""
    folder = make_reachable(_place())
    with exclusive(folder / "background.lock"):
        found = _read()
        if found:
            end(found.alive().values())
        _state().unlink(missing_ok=True)
        if wipe:
            shutil.rmtree(folder / "data", ignore_errors=True)
    return found


def _place() -> Path:
    return cache_folder() / "opensearch"


def _state() -> Path:
    return _place() / "background.json"


def _write(running: Running) -> None:
    _state().write_text(json.dumps(asdict(running), indent=2) + "\n", encoding="utf-8")


def _read() -> Running | None:
    if not _state().is_file():
        return None
    content = json.loads(_state().read_text(encoding="utf-8"))
    return Running(**{**content, "urls": tuple(content["urls"])})
