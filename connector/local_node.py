"""One node of a local OpenSearch: its configuration, its command line, its process."""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import socket
import ssl
import subprocess
import time
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sciret.connector.local_process import PATIENCE, end, make_reachable, spawn, unprivileged
from sciret.errors import StoreError

HOST = "127.0.0.1"
PORTS = range(20_000, 32_000)
"""Below those that the kernel gives to outgoing connections, so that none of them takes a port before its node does."""
START_TIMEOUT = 240.0
WRITABLE = ("data", "logs", "tmp", "snapshots")
"""Folders of a node that the server writes into, beside its configuration, where it keeps a key store."""
LOGGING = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


@dataclass(frozen=True, slots=True)
class Runtime:
    """What all nodes of a server share."""

    version: str
    home: Path
    java: Path
    options: tuple[str, ...]
    """Java's own: heap, compiler, modules."""


@dataclass(frozen=True, slots=True)
class Login:
    """How to talk to a server with security."""

    user: str
    password: str
    ca: Path


@dataclass(slots=True)
class Node:
    """A folder with configuration, data and log, and the process that runs on it."""

    name: str
    folder: Path
    port: int
    transport_port: int
    runtime: Runtime
    settings: Mapping[str, Any]
    login: Login | None = None
    files: Path | None = None
    """A folder whose content its configuration has, too."""
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"{'https' if self.login else 'http'}://{HOST}:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "log.txt"

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process else None

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, *, until_parent_ends: bool) -> None:
        self._configure()
        command = self.command()
        self.process = spawn(command, self.runtime.home, self.log, until_parent_ends=until_parent_ends)

    def _configure(self) -> None:
        """A configuration that another user could write into is not trusted, but written anew."""
        who = unprivileged()
        config = make_reachable(self.folder) / "config"
        if config.exists() and config.stat().st_uid != os.geteuid():
            shutil.rmtree(config)
        config.mkdir(exist_ok=True)
        if self.files:
            shutil.copytree(self.files, config, dirs_exist_ok=True)
        settings = {**self._settings(), **self.settings}
        lines = [f"{name}: {json.dumps(value)}\n" for name, value in settings.items()]  # JSON is YAML
        (config / "opensearch.yml").write_text("".join(lines), encoding="utf-8")
        (config / "log4j2.properties").write_text(LOGGING, encoding="utf-8")
        new = [self.folder / name for name in WRITABLE if not (self.folder / name).exists()]
        for place in new:
            place.mkdir(mode=0o700)
        for place in (config, *new):
            if who:
                who.own(place)

    def _settings(self) -> dict[str, Any]:
        return {
            "cluster.name": "sciret-local",
            "node.name": self.name,
            "network.host": HOST,
            "http.port": self.port,
            "transport.port": self.transport_port,
            "path.data": str(self.folder / "data"),
            "path.logs": str(self.folder / "logs"),
            "path.repo": str(self.folder / "snapshots"),
            # A disk that is 90 % full is no reason to refuse writes on a machine that only tries things out.
            "cluster.routing.allocation.disk.threshold_enabled": False,
        }

    def command(self) -> list[str]:
        runtime = self.runtime
        # 3.x has an agent in place of Java's security manager. Attached it makes a start longer, and it holds back only
        # plugins that are not trusted; its classes must be there all the same.
        jars = [*_jars(runtime.home, "lib/*.jar"), *_jars(runtime.home, "agent/opensearch-agent-bootstrap-*.jar")]
        return [
            str(runtime.java),
            *runtime.options,
            f"-Djava.io.tmpdir={self.folder / 'tmp'}",
            f"-XX:ErrorFile={self.folder / 'logs' / 'crash.txt'}",
            "-Djava.awt.headless=true",
            "-Dfile.encoding=UTF-8",
            # The runtime of the extra has no break iterators; ICU's take their place. On the boot class path, since the
            # security manager of 2.x lets nobody else provide them.
            f"-Xbootclasspath/a:{':'.join(_jars(runtime.home, 'locale/*.jar'))}",
            "-Djava.locale.providers=SPI,CLDR",
            "-Djna.nosys=true",
            "-Dio.netty.noUnsafe=true",
            "-Dlog4j2.disable.jmx=true",
            "--add-opens=java.base/java.nio=ALL-UNNAMED",
            f"-Dopensearch.path.home={runtime.home}",
            f"-Dopensearch.path.conf={self.folder / 'config'}",
            "-Dopensearch.distribution.type=zip",
            "-cp",
            ":".join(jars),
            "org.opensearch.bootstrap.OpenSearch",
        ]

    def wait(self, nodes: int = 1) -> None:
        """Until it answers as a member of a cluster of that many nodes."""
        deadline = time.monotonic() + START_TIMEOUT
        path = f"/_cluster/health?wait_for_nodes=>={nodes}&wait_for_status=yellow&timeout=1s"
        while True:
            if not self.is_running:
                raise StoreError(f"OpenSearch ended while it started: {self.last_words()}")
            try:
                if fetch(self.url, path, self.login)[0] == 200:
                    return
            except OSError:
                pass
            if time.monotonic() > deadline:
                raise StoreError(f"OpenSearch did not answer within {START_TIMEOUT:.0f} s: {self.last_words()}")
            time.sleep(0.1)

    def last_words(self) -> str:
        """The end of its log, in one message."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines() if self.log.exists() else []
        said = [line for line in lines if not line.startswith("\tat ")]
        return " | ".join(said[-5:]) or "it said nothing"

    def kill(self) -> None:
        """`kill -9`, for tests of what a cluster does then."""
        if self.process:
            self.process.kill()
            self.process.wait()


def stop(nodes: Sequence[Node], patience: float = PATIENCE) -> None:
    """All of them; returns when their processes are gone."""
    started = [node.process for node in nodes if node.process]
    end((process.pid for process in started), patience)
    for process in started:
        process.wait()


def _jars(home: Path, pattern: str) -> list[str]:
    return sorted(map(str, home.glob(pattern)))


def fetch(url: str, path: str, login: Login | None = None, method: str = "GET") -> tuple[int, Any]:
    """Status and JSON of a request without a body."""
    parts = urlsplit(url)
    host = parts.hostname or HOST
    headers = {}
    connection: http.client.HTTPConnection
    if login:
        credentials = b64encode(f"{login.user}:{login.password}".encode()).decode()
        headers["Authorization"] = f"Basic {credentials}"
        context = ssl.create_default_context(cafile=str(login.ca))
        connection = http.client.HTTPSConnection(host, parts.port, timeout=10, context=context)
    else:
        connection = http.client.HTTPConnection(host, parts.port, timeout=10)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        body = response.read()
        return response.status, json.loads(body) if body.startswith((b"{", b"[")) else body.decode(errors="replace")
    except http.client.HTTPException as error:
        raise ConnectionError(str(error)) from error
    finally:
        connection.close()


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens on."""
    return list(islice(filter(is_free, random.sample(PORTS, len(PORTS))), count))


def is_free(port: int) -> bool:
    with socket.socket() as candidate:
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that linger are no listener
        try:
            candidate.bind((HOST, port))
        except OSError:
            return False
    return True
