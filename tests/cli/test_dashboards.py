"""`sciret dashboards`: which objects go where."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import Result

from sciret.mappings.dashboards import ndjson

Sciret = Callable[..., Result]


@pytest.fixture
def server() -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    """Address of a server that takes every import, and what it was sent."""
    sent: list[tuple[dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            sent.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"success": True, "successCount": body.count(b'"references"')}).encode())

        def log_message(self, *_arguments: Any) -> None:
            """Nothing on stderr."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}", sent
    http.shutdown()
    thread.join()
    http.server_close()


def test_export_writes_to_stdout_or_to_a_file(sciret: Sciret, tmp_path: Path) -> None:
    """The same text; what was done is said on stderr, where it cannot get into the file."""
    assert sciret("dashboards", "export").stdout == ndjson("papers")
    result = sciret("dashboards", "export", tmp_path / "d.ndjson")
    assert result.stdout == ""
    assert "32 objects written" in result.stderr
    assert (tmp_path / "d.ndjson").read_text(encoding="utf-8") == ndjson("papers")


@pytest.mark.parametrize(
    ("store", "options", "alias"),
    [
        ("https://cluster:9200/theses", (), "theses"),
        ("https://cluster:9200/theses", ("--alias", "reports"), "reports"),
        ("papers.db", (), "papers"),
    ],
)
def test_the_alias_is_that_of_the_store(
    sciret: Sciret, monkeypatch: pytest.MonkeyPatch, store: str, options: tuple[str, ...], alias: str
) -> None:
    """Unless another one is named."""
    monkeypatch.setenv("SCIRET_STORE", store)
    assert sciret("dashboards", "export", *options).stdout == ndjson(alias)


def test_a_name_that_is_no_alias_is_refused(sciret: Sciret) -> None:
    """It would be put into queries."""
    result = sciret("dashboards", "export", "--alias", 'papers" OR "x')
    assert result.exit_code == 2
    assert "cannot be an alias" in result.stderr


def test_install_sends_them_with_the_credentials_of_the_cluster(
    sciret: Sciret, server: tuple[str, list[tuple[dict[str, str], bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says how many arrived."""
    monkeypatch.setenv("SCIRET_OPENSEARCH_USER", "ops")
    monkeypatch.setenv("SCIRET_OPENSEARCH_PASSWORD", "word")
    url, sent = server
    result = sciret("dashboards", "install", "--dashboards-url", url, "--tenant", "global")
    assert result.exit_code == 0, result.stderr
    assert "32 objects" in result.stdout
    assert result.stderr == ""
    ((headers, body),) = sent
    assert headers["authorization"] == "Basic b3BzOndvcmQ="
    assert headers["securitytenant"] == "global"
    assert ndjson("papers").encode() in body


def test_unverified_tls_is_said_loudly(
    sciret: Sciret, server: tuple[str, list[tuple[dict[str, str], bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCIRET_OPENSEARCH_INSECURE", "1")
    result = sciret("dashboards", "install", "--dashboards-url", server[0])
    assert "NOT VERIFIED" in result.stderr


def test_install_needs_an_address(sciret: Sciret) -> None:
    """There is no default that would be right."""
    result = sciret("dashboards", "install")
    assert result.exit_code == 2
    assert "--dashboards-url" in result.stderr
