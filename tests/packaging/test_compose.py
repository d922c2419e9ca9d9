"""docker/compose.yaml and its scripts: what can be known without an engine (docker/README.md says what cannot)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
COMPOSE: dict[str, Any] = YAML(typ="safe").load(DOCKER / "compose.yaml")
SERVICES: dict[str, Any] = COMPOSE["services"]
TOOLS = Path(sys.executable).parent
ONE_SHOT = {"certificates", "security", "provision", "sciret"}
SCRIPTS = sorted(DOCKER.glob("*.sh"))


def check(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], cwd=DOCKER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["compose.yaml", "compose.gpu.yaml"])
def test_the_compose_files_follow_the_specification(name: str) -> None:
    """The JSON schema of the Compose specification, as check-jsonschema brings it along."""
    check(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", name)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_the_linter_finds_nothing_in_the_scripts(script: Path) -> None:
    check(TOOLS / "shellcheck", "--enable", "all", "--exclude", "SC2250,SC2292,SC2312", script.name)


def test_every_service_has_an_exact_version() -> None:
    """One that is `latest` is another one tomorrow."""
    for image in {service["image"] for service in SERVICES.values()} - {"sciret:cpu"}:
        assert re.fullmatch(r"opensearchproject/[a-z-]+:\d+\.\d+\.\d+", image)


def test_only_what_makes_keys_and_passwords_is_root() -> None:
    """For its moment, and without a network."""
    assert {name for name, service in SERVICES.items() if "user" in service} == {"certificates", "security"}
    for name in ("certificates", "security"):
        assert SERVICES[name]["network_mode"] == "none"


def test_what_keeps_running_has_a_health_check() -> None:
    """And what waits for it waits until it is healthy."""
    for name, service in SERVICES.items():
        assert (name in ONE_SHOT) != ("test" in service.get("healthcheck", {}))
        for needed, how in service.get("depends_on", {}).items():
            right = "service_completed_successfully" if needed in ONE_SHOT else "service_healthy"
            assert how["condition"] == right


def test_ports_are_open_to_this_machine_only() -> None:
    for service in SERVICES.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_no_secret_is_in_a_file() -> None:
    """Passwords come from the environment, and have no default."""
    assert COMPOSE["secrets"] == {
        "admin_password": {"environment": "OPENSEARCH_INITIAL_ADMIN_PASSWORD"},
        "dashboards_password": {"environment": "DASHBOARDS_PASSWORD"},
    }
    assert SERVICES["dashboards"]["environment"]["OPENSEARCH_PASSWORD"].startswith("${DASHBOARDS_PASSWORD:?")
    example = (DOCKER / ".env.example").read_text(encoding="utf-8")
    assert re.findall(r"^(\w*PASSWORD)=(.*)$", example, re.MULTILINE) == [
        ("OPENSEARCH_INITIAL_ADMIN_PASSWORD", ""),
        ("DASHBOARDS_PASSWORD", ""),
    ]
    ignored = subprocess.run(["git", "check-ignore", "-q", "docker/.env"], cwd=ROOT, check=False)  # noqa: S607
    assert ignored.returncode == 0


def test_whoever_reads_a_secret_can_get_it() -> None:
    """Compose copies those of the environment into the container: it must be writable, and the file be its user's."""
    for service in SERVICES.values():
        if "secrets" in service:
            assert "read_only" not in service
    assert [each["uid"] for name in ("provision", "sciret") for each in SERVICES[name]["secrets"]] == ["10001"] * 2


def test_every_variable_is_in_the_example() -> None:
    text = (DOCKER / "compose.yaml").read_text(encoding="utf-8")
    used = set(re.findall(r"\$\{(\w+)", text)) | {each["environment"] for each in COMPOSE["secrets"].values()}
    example = (DOCKER / ".env.example").read_text(encoding="utf-8")
    assert used == set(re.findall(r"^(\w+)=", example, re.MULTILINE))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder)
    return folder


def make_certificates(folder: Path) -> str:
    owner = f"{os.getuid()}:{os.getgid()}"
    done = subprocess.run(
        ["/bin/sh", DOCKER / "certificates.sh", folder, owner], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("name", ["opensearch", "dashboards"])
def test_certificates_are_for_their_services(certificates: Path, name: str) -> None:
    """Signed by the authority, for the service's name and for localhost, with a key that only its owner reads."""
    verify = ["openssl", "verify", "-CAfile", str(certificates / "ca.pem"), "-purpose", "sslserver"]
    for host in (name, "localhost"):
        subprocess.run([*verify, "-verify_hostname", host, str(certificates / f"{name}.pem")], check=True)
    assert (certificates / f"{name}-key.pem").stat().st_mode & 0o077 == 0


def test_the_key_of_the_authority_is_gone_and_nothing_is_made_twice(certificates: Path) -> None:
    before = {file.name: file.read_bytes() for file in certificates.iterdir()}
    assert set(before) == {
        "ca.pem",
        "opensearch.pem",
        "opensearch-key.pem",
        "dashboards.pem",
        "dashboards-key.pem",
        "ready",
    }
    assert "they are there" in make_certificates(certificates)
    assert {file.name: file.read_bytes() for file in certificates.iterdir()} == before


@pytest.fixture
def dashboards() -> Iterator[str]:
    """A server in the place of OpenSearch Dashboards, which is in no registry: it takes every import."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"success": true, "successCount": %d}' % body.count(b'"references"'))

        def log_message(self, *_arguments: Any) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_provisioning_makes_what_is_missing_and_can_be_repeated(
    opensearch: Any, dashboards: str, unique_name: Callable[[], str], tmp_path: Path
) -> None:
    """The commands themselves, on a real cluster: the first start makes the index, the second leaves it as it is."""
    (commands,) = SERVICES["provision"]["command"]
    here = commands.replace("https://dashboards:5601", dashboards)
    store = f"{opensearch.url}/{unique_name()}"
    environment = {"PATH": f"{TOOLS}:/usr/bin:/bin", "SCIRET_STORE": store}
    said = []
    for _ in range(2):
        done = subprocess.run(
            [*SERVICES["provision"]["entrypoint"], here],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert ["is made" in each for each in said] == [True, False]
    assert all("32 objects are in" in each for each in said)
