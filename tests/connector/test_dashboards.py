"""Installing saved objects: the request that OpenSearch Dashboards wants, and what its answers mean."""

from __future__ import annotations

import json
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import policy
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from sciret.connector.credentials import Credentials
from sciret.connector.dashboards import check_url, install
from sciret.errors import SettingsError, StoreError
from sciret.mappings.dashboards import ndjson

OBJECTS = ndjson("papers")
COUNT = len(OBJECTS.splitlines())


@dataclass
class Standin:
    """A server in the place of Dashboards. It keeps what it was asked and answers what it is told to."""

    status: int = 200
    answer: bytes = json.dumps({"success": True, "successCount": COUNT}).encode()
    base_path: str = ""
    asked: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""

    @property
    def upload(self) -> tuple[str | None, bytes]:
        """File name and content of the form field `file`: the only one, or this fails."""
        _, headers, body = self.asked[-1]
        head = f"content-type: {headers['content-type']}\r\n\r\n".encode()
        (part,) = BytesParser(policy=policy.HTTP).parsebytes(head + body).iter_parts()
        assert part.get_param("name", header="content-disposition") == "file"
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        return part.get_filename(), content


@contextmanager
def serving(standin: Standin, context: ssl.SSLContext | None = None) -> Iterator[Standin]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            standin.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(standin.status)
            self.end_headers()
            self.wfile.write(standin.answer)

        def log_message(self, *_arguments: Any) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    standin.url = f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}{standin.base_path}"
    try:
        yield standin
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_request_is_the_one_that_dashboards_wants() -> None:
    """Path and query, the header against forged requests, and a form with a file whose name ends in .ndjson."""
    with serving(Standin()) as server:
        assert install(server.url, OBJECTS, Credentials()) == COUNT
    ((path, headers, _),) = server.asked
    assert path == "/api/saved_objects/_import?overwrite=true"
    assert headers["osd-xsrf"] == "true"
    assert headers["content-type"].startswith("multipart/form-data; boundary=")
    assert server.upload == ("sciret.ndjson", OBJECTS.encode())
    assert "authorization" not in headers
    assert "securitytenant" not in headers


def test_user_tenant_and_base_path() -> None:
    """A password can have letters beyond Latin-1."""
    with serving(Standin(base_path="/_dashboards/")) as server:
        install(server.url, OBJECTS, Credentials("ops", "pąss:word"), tenant="global")
    ((path, headers, _),) = server.asked
    assert path == "/_dashboards/api/saved_objects/_import?overwrite=true"
    assert headers["authorization"] == "Basic b3BzOnDEhXNzOndvcmQ="
    assert headers["securitytenant"] == "global"


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (302, "login"),
        (401, "SCIRET_OPENSEARCH_USER"),
        (403, "--tenant"),
        (404, "base path"),
        (413, "maxImportPayloadBytes"),
        (500, "out of order"),
        (503, "try again"),
    ],
)
def test_a_refusal_says_what_to_do(status: int, says: str) -> None:
    """And is never taken for a success, nor followed to another address."""
    with serving(Standin(status=status, answer=b"out of order")) as server:
        with pytest.raises(StoreError, match=says):
            install(server.url, OBJECTS, Credentials())
        assert len(server.asked) == 1


def test_objects_that_were_refused_are_named() -> None:
    """Dashboards answers 200 also when it took only some of them."""
    errors = [{"type": "visualization", "id": f"v{n}", "error": {"type": "missing_references"}} for n in range(5)]
    answer = json.dumps({"success": False, "successCount": 27, "errors": errors}).encode()
    with (
        serving(Standin(answer=answer)) as server,
        pytest.raises(StoreError, match=r"took 27 .*visualization v0 \(missing_references\).* and 2 more"),
    ):
        install(server.url, OBJECTS, Credentials())


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'{"success": true}'])
def test_an_answer_of_something_else_is_an_error(answer: bytes) -> None:
    """A login page of a proxy comes with 200 as well."""
    with serving(Standin(answer=answer)) as server, pytest.raises(StoreError, match="check the address"):
        install(server.url, OBJECTS, Credentials())


def test_the_cluster_is_not_dashboards(opensearch: Any) -> None:
    """A mistake that is easily made: the other port."""
    with pytest.raises(StoreError, match="5601"):
        install(opensearch.url, OBJECTS, Credentials())


def test_nobody_there() -> None:
    with pytest.raises(StoreError, match="is OpenSearch Dashboards running there"):
        install("http://127.0.0.1:9", OBJECTS, Credentials())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate for 127.0.0.1 in one file, its own authority."""
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", file, "-out", file, *subject],  # noqa: S607
        check=True,
        capture_output=True,
    )
    return file


def test_tls_is_verified(certificate: Path) -> None:
    """Against the authorities of the system, or the one given; only `insecure` takes any."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(Standin(), context) as server:
        with pytest.raises(StoreError, match="SCIRET_OPENSEARCH_CA"):
            install(server.url, OBJECTS, Credentials("ops", "secret"))
        assert server.asked == []
        assert install(server.url, OBJECTS, Credentials(ca=certificate)) == COUNT
        assert install(server.url, OBJECTS, Credentials(insecure=True)) == COUNT


@pytest.mark.parametrize(
    "url", ["dashboards:5601", "ftp://host", "https://", "https://host:port", "https://ops:secret@host:5601"]
)
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    """Without its secret in the message."""
    with pytest.raises(SettingsError) as caught:
        check_url(url)
    assert "secret" not in str(caught.value)


def test_a_password_is_not_sent_in_clear() -> None:
    """Except to this machine itself."""
    with pytest.raises(StoreError, match="without TLS"):
        install("http://dashboards.invalid:5601", OBJECTS, Credentials("ops", "secret"))


def test_an_aws_signature_does_not_log_in() -> None:
    """Said at once, with the other way."""
    with pytest.raises(SettingsError, match="dashboards export"):
        install("https://dashboards.invalid", OBJECTS, Credentials(aws_region="eu-central-1"))
