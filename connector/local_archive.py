"""Java's archive of the classes that a server loads (CDS): made once, and every later start is quicker.

benchmarks/start.py prints by how much.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from dataclasses import replace
from pathlib import Path

from sciret.connector.local_node import Node, Runtime, free_ports
from sciret.connector.local_process import end

PATIENCE = 120.0
"""Seconds for the server that makes the archive to end; it writes the archive then."""
log = logging.getLogger(__name__)


def archive_of(runtime: Runtime) -> Path | None:
    """Where its archive belongs; None where there can be none.

    An archive stands on the one of Java's own classes, which the runtime of the extra does not have. And 2.x often
    hangs when it is told to end, which is when an archive is written.
    """
    base = runtime.java.resolve().parents[1] / "lib" / "server" / "classes.jsa"
    if not base.is_file() or runtime.version.startswith("2."):
        return None
    java = hashlib.sha256(f"{base} {base.stat().st_mtime_ns}".encode()).hexdigest()[:10]
    return runtime.home.with_name(f"{runtime.home.name}-java-{java}.jsa")


def make_archive(runtime: Runtime, folder: Path, archive: Path) -> None:
    """Start a server, and let it write down what it loaded. Without an archive a server starts all the same."""
    written = folder / "node" / "tmp" / "classes.jsa"
    recording = replace(runtime, options=(*runtime.options, f"-XX:ArchiveClassesAtExit={written}"))
    http, transport = free_ports(2)
    node = Node("node", folder / "node", http, transport, recording, {"discovery.type": "single-node"})
    node.start(until_parent_ends=True)
    try:
        node.wait()
    finally:
        if node.process:
            end([node.process.pid], PATIENCE)
            node.process.wait()
    if written.is_file():
        copy = Path(shutil.copyfile(written, archive.with_suffix(".new")))  # so that it is ours, not the server's
        copy.chmod(0o644)
        copy.replace(archive)
    else:
        log.warning("Java wrote no class archive: %s", node.last_words())


def with_archive(runtime: Runtime, archive: Path) -> Runtime:
    """Java checks that an archive fits, and goes without it where it does not."""
    return replace(runtime, options=(*runtime.options, f"-XX:SharedArchiveFile={archive}"))
