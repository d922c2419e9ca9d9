"""Versioned indices behind an alias: making one with everything that it needs on the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from sciret.connector.client import Client
from sciret.mappings.options import IndexOptions
from sciret.mappings.templates import (
    VERSION,
    component_templates,
    index_body,
    index_meta,
    index_template,
    vector_fields,
)

__all__ = ["IndexOptions", "create_index", "index_meta", "index_name", "put_meta", "put_templates"]


def index_name(alias: str, number: int) -> str:
    """`papers-000001`: the index that is behind an alias, or was, or will be."""
    return f"{alias}-{number:06}"


def create_index(
    client: Client, name: str, options: IndexOptions, meta: dict[str, Any], *, alias: str | None = None
) -> None:
    """Make an index of the client's alias. With `alias` the two appear together, so that no one sees half of it.

    Of two who make the same index at once one gets RefusedRequestError (`resource_already_exists`).
    """
    put_templates(client, options, meta)
    body = index_body(options, meta, derives=client.server.derives_vectors)
    if alias:
        body["aliases"] = {alias: {}}
    client.call("PUT", f"/{quote(name)}", body)


def put_templates(client: Client, options: IndexOptions, meta: dict[str, Any]) -> None:
    """The component templates that the cluster does not have yet in our version, and the alias' index template."""
    listed = client.call("GET", "/_component_template", params={"filter_path": "component_templates"})
    known = {
        each["name"]: each["component_template"].get("version", 0)
        for each in (listed or {}).get("component_templates", [])
    }
    for name, template in component_templates().items():
        if known.get(name, 0) < VERSION:
            client.call("PUT", f"/_component_template/{name}", template)
    alias = client.address.alias
    template = index_template(alias, options, meta, derives=client.server.derives_vectors)
    client.call("PUT", f"/_index_template/{quote(f'sciret-{alias}')}", template)


def put_meta(
    client: Client, index: str, meta: Mapping[str, Any], options: IndexOptions, *, vectors: int | None
) -> None:
    """Replace `_meta`; with `vectors`, their length, add the fields for them to an index that was made without."""
    body = {"_meta": dict(meta), "properties": vector_fields(options, vectors)}
    client.call("PUT", f"/{quote(index)}/_mapping", body)
