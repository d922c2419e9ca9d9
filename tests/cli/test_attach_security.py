"""Attaching under the security plugin, with the rights that docs/opensearch.md names and no others."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from library import PROPERTIES, documents
from opensearchpy import OpenSearch

from sciret.cli.main import cli
from sciret.connector.local_server import LocalServer
from sciret.connector.roles import roles

from ..encoders.tiny_bundle import tiny_bundle

LOOK = ["cluster:monitor/main"]
READ = ["read", "indices:admin/mappings/get", "indices:monitor/settings/get"]
WRITE = ["write", "indices:admin/mapping/put", "indices:admin/refresh*"]
_API = "/_plugins/_security/api"


class Guarded:
    """A library on a cluster where nobody may do anything unless they were told so."""

    def __init__(self, server: LocalServer, admin: OpenSearch, name: str, model: str) -> None:
        self.server, self.admin, self.name, self._model = server, admin, name, model
        self._password = f"{secrets.token_urlsafe(12)}-Aa1!"
        settings = {"number_of_replicas": 0, "index.knn": True}
        admin.indices.create(index=name, body={"settings": settings, "mappings": {"properties": PROPERTIES}})
        for each, source in documents(range(5)).items():
            admin.index(index=name, id=each, body=source, params={"refresh": "true"})

    @property
    def address(self) -> str:
        return f"{self.server.url}/{self.name}"

    @property
    def beside(self) -> str:
        return f"{self.server.url}/sciret-{self.name}"

    def allow(self, cluster: Sequence[str], *indices: Mapping[str, Any]) -> None:
        """What the one user may do from here on."""
        role = {"cluster_permissions": list(cluster), "index_permissions": list(indices)}
        self._put("roles", role)
        self._put("rolesmapping", {"users": [self.name]})
        self._put("internalusers", {"password": self._password})

    def _put(self, kind: str, body: Mapping[str, Any]) -> None:
        self.admin.transport.perform_request("PUT", f"{_API}/{kind}/{self.name}", body=body)

    def run(self, *arguments: str) -> Result:
        environment = {
            "SCIRET_MODEL": self._model,
            "SCIRET_OPENSEARCH_USER": self.name,
            "SCIRET_OPENSEARCH_PASSWORD": self._password,
            "SCIRET_OPENSEARCH_CA": str(self.server.ca),
            "SCIRET_INGEST_EVENTS": "0",
        }
        return CliRunner(env=environment).invoke(cli, list(arguments), prog_name="sciret")

    def attach(self, *options: str) -> Result:
        return self.run("attach", "--from", self.address, "--title", "bib.titel", *options)

    def remove(self) -> None:
        for kind in ("rolesmapping", "roles", "internalusers"):
            self.admin.transport.perform_request("DELETE", f"{_API}/{kind}/{self.name}", params={"ignore": 404})
        self.admin.indices.delete(index=f"{self.name},sciret-{self.name}-0*", params={"ignore_unavailable": "true"})


@pytest.fixture
def library(secured_opensearch: LocalServer, unique_name: Callable[..., str], tmp_path: Path) -> Iterator[Guarded]:
    server = secured_opensearch
    login = ("admin", server.passwords["admin"])
    name = unique_name("sciret-library").removeprefix("sciret-")
    with OpenSearch(server.url, http_auth=login, ca_certs=str(server.ca)) as admin:
        made = Guarded(server, admin, name, tiny_bundle(tmp_path / "bundle"))
        yield made
        made.remove()


def reading(library: Guarded) -> dict[str, Any]:
    return {"index_patterns": [library.name], "allowed_actions": READ}


def test_beside_an_index_that_may_only_be_read(library: Guarded) -> None:
    """The store is somebody's who may make it; following it needs no more than an ingest."""
    alias = f"sciret-{library.name}"
    made = roles(alias)
    admin, ingest = made[f"sciret_{alias}_admin"], made[f"sciret_{alias}_ingest"]
    library.allow([*LOOK, *admin["cluster_permissions"]], reading(library), *admin["index_permissions"])
    result = library.attach()
    assert result.exit_code == 0, result.output
    library.admin.index(index=library.name, id="new", body={"bib": {"titel": "New"}}, params={"refresh": "true"})
    library.allow([*LOOK, *ingest["cluster_permissions"]], reading(library), *ingest["index_permissions"])
    for options in ((), ("--reconcile",)):
        result = library.run("sync", "--into", library.beside, *options)
        assert result.exit_code == 0, result.output
    assert library.admin.count(index=alias)["count"] == 6


def test_inside_an_index_that_may_be_written(library: Guarded) -> None:
    library.allow(
        [*LOOK, "cluster_composite_ops"], {"index_patterns": [library.name], "allowed_actions": [*READ, *WRITE]}
    )
    result = library.attach("--in-place")
    assert result.exit_code == 0, result.output
    found = library.run("search", "peat", "--store", library.address, "-k", "5")
    assert found.exit_code == 0, found.output
    assert "Peat and moss 3" in found.stdout


def test_without_rights_it_is_said_what_is_missing(library: Guarded) -> None:
    library.allow(LOOK, {"index_patterns": ["other"], "allowed_actions": READ})
    result = library.attach()
    assert result.exit_code == 1
    assert "you may not do this there" in result.stderr
    library.allow(LOOK, {"index_patterns": [library.name], "allowed_actions": READ})
    result = library.attach("--in-place")
    assert result.exit_code == 1
    assert "indices:admin/mapping/put" in result.stderr
