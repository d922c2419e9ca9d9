"""A real OpenSearch on this machine, for tests and for trying out: one node or a cluster, on loopback only."""

from __future__ import annotations

import atexit
import fcntl
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciret.connector.artefacts import exclusive, load_recipe, prepare_home
from sciret.connector.local_archive import archive_of, make_archive, with_archive
from sciret.connector.local_java import find_java, java_options, reachable_java
from sciret.connector.local_node import HOST, Node, Runtime, fetch, free_ports, is_free, stop
from sciret.connector.local_process import PATIENCE, cache_folder, make_reachable
from sciret.connector.local_security import Security, prepare_security
from sciret.errors import SettingsError

VERSIONS = ("3.6.0", "2.19.1")
SHORT_PATIENCE = 1.0
"""For servers whose data nobody wants to keep."""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """The running nodes of one cluster."""

    version: str
    folder: Path
    nodes: Sequence[Node]
    security: Security | None = None

    @property
    def url(self) -> str:
        return self.nodes[0].url

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    @property
    def ca(self) -> Path:
        """The certificate to trust, of a server with security."""
        return self._security.ca

    @property
    def passwords(self) -> dict[str, str]:
        """By user, of a server with security: admin, reader, and nobody, who has no role."""
        return self._security.passwords

    @property
    def _security(self) -> Security:
        if self.security is None:
            raise SettingsError(f"OpenSearch {self.version} runs without security; start it with security=True")
        return self.security

    def node(self, name: str) -> Node:
        """By its name: `node-1`, `node-2` ..."""
        return next(node for node in self.nodes if node.name == name)

    def get(self, path: str) -> Any:
        """The JSON that a GET request to a running node brings, for looking at the server without a client."""
        node = next(node for node in self.nodes if node.is_running)
        return fetch(node.url, path, node.login)[1]

    def manager(self) -> str:
        """Name of the node that is the elected cluster manager."""
        return str(self.get("/_cat/cluster_manager?format=json")[0]["node"])

    def kill(self, name: str) -> None:
        """`kill -9` of one node, for tests of what the others do then."""
        self.node(name).kill()

    def revive(self) -> None:
        """Start the nodes that were killed, on the data that they had, and wait until all have found each other."""
        for node in self.nodes:
            if not node.is_running:
                node.start(until_parent_ends=True)
        self.wait()

    def wait(self) -> None:
        """Until every node answers and has found the others; if one does not, all are stopped."""
        try:
            for node in self.nodes:
                node.wait(len(self.nodes))
        except BaseException:
            self.stop()
            raise

    def stop(self, patience: float = PATIENCE) -> None:
        stop(self.nodes, patience)


def launch_server(
    version: str,
    folder: Path,
    *,
    port: int | None = None,
    nodes: int = 1,
    heap: str = "256m",
    quick: bool = True,
    security: bool = False,
    until_parent_ends: bool = True,
) -> LocalServer:
    """Start its processes. Data stay in the folder; ports are free ones, or begin at the one that is given."""
    runtime = prepare_runtime(f"{version}-security" if security else version, heap, quick=quick)
    secured = prepare_security(folder / "security") if security else None
    server = LocalServer(version, folder, _nodes(runtime, folder, port, nodes, secured), secured)
    if until_parent_ends:
        atexit.register(server.stop, SHORT_PATIENCE)
    for node in server.nodes:
        node.start(until_parent_ends=until_parent_ends)
    return server


@contextmanager
def throwaway_server(version: str = VERSIONS[0], **options: Any) -> Iterator[LocalServer]:
    """A server that answers, for as long as the block lasts; its folder goes with it."""
    with run_folder() as folder:
        server = launch_server(version, folder, **options)
        try:
            server.wait()
            yield server
        finally:
            server.stop(SHORT_PATIENCE)


def prepare_runtime(version: str, heap: str, *, quick: bool) -> Runtime:
    """Everything that a node needs is in the cache then."""
    recipe, cache = load_recipe(version), cache_folder() / "opensearch"
    java = reachable_java(find_java(*recipe.java), cache)
    home = prepare_home(recipe, cache)
    runtime = Runtime(recipe.version, home, java, java_options(java, recipe.version, heap, quick=quick))
    archive = archive_of(runtime) if quick else None
    return runtime if archive is None else _archived(runtime, archive)


def _archived(runtime: Runtime, archive: Path) -> Runtime:
    if not archive.exists():
        with exclusive(archive.with_suffix(".lock")), run_folder() as folder:
            if not archive.exists():
                make_archive(runtime, folder, archive)
    return with_archive(runtime, archive) if archive.exists() else runtime


def _nodes(runtime: Runtime, folder: Path, port: int | None, count: int, security: Security | None) -> list[Node]:
    free = free_ports(2 * count)
    ports, transport_ports = free[:count], free[count:]
    if port is not None:
        ports = [_checked(number) for number in range(port, port + count)]
    names = [f"node-{number + 1}" for number in range(count)]
    settings = {**_discovery(names, transport_ports), **(security.settings() if security else {})}
    login, files = (security.login, security.node_files) if security else (None, None)
    return [
        Node(name, folder / name, http, transport, runtime, settings, login, files)
        for name, http, transport in zip(names, ports, transport_ports, strict=True)
    ]


def _checked(port: int) -> int:
    if not is_free(port):
        raise SettingsError(f"port {port} is taken by another program; choose another with --port")
    return port


def _discovery(names: Sequence[str], transport_ports: Sequence[int]) -> dict[str, Any]:
    if len(names) == 1:
        return {"discovery.type": "single-node"}
    return {
        "discovery.seed_hosts": [f"{HOST}:{port}" for port in transport_ports],
        "cluster.initial_cluster_manager_nodes": list(names),
    }


@contextmanager
def run_folder() -> Iterator[Path]:
    """A folder for as long as this process needs it; those that killed processes left behind are removed on the way."""
    runs = make_reachable(cache_folder() / "opensearch" / "runs")
    for old in runs.iterdir():
        _remove_if_left(old)
    folder = Path(tempfile.mkdtemp(dir=runs))
    folder.chmod(0o755)
    with (folder / "in-use").open("w") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_if_left(folder: Path) -> None:
    """The lock of a process that died is free."""
    try:
        with (folder / "in-use").open() as mark:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        pass
