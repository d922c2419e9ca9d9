"""`sciret security`: rules for the security plugin of OpenSearch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import click

from sciret.settings import load_settings

FORMATS = ("yaml", "console", "json")


def groups(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, list[str]]:
    """`reader=staff`: a role and a group of the directory; a role may have several."""
    found: dict[str, list[str]] = {}
    for value in values:
        role, _, group = value.partition("=")
        if not (role and group):
            raise click.BadParameter(f"{value!r}: give ROLE=GROUP, such as reader=library-staff")
        found.setdefault(role, []).append(group)
    return found


@click.group()
def command() -> None:
    """Print roles for the security plugin of OpenSearch.

    \b
    sciret security roles --store https://host:9200/papers

    docs/security.md says what each role may do, and how to put them on a cluster.
    """


@command.command()
@click.option(
    "--store",
    metavar="URL",
    help="The store that the roles are for; only its alias is looked at, nothing is asked of it.  "
    "[SCIRET_STORE where it is an address; default: the alias papers]",
)
@click.option(
    "--group",
    "given",
    multiple=True,
    callback=groups,
    metavar="ROLE=GROUP",
    help="A group (backend role) that has a role: reader, catalogue, ingest or admin; may be given several times.  "
    "[default: a group of the role's own name]",
)
@click.option("--mappings", is_flag=True, help="With yaml: roles_mapping.yml instead of roles.yml.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="yaml",
    show_default=True,
    help="yaml for securityadmin, console to paste into the Dev Tools of Dashboards, json for programs.",
)
def roles(store: str | None, given: Mapping[str, list[str]], mappings: bool, format_: str) -> None:
    """Print roles that let people see open papers only, and let others ingest and administer.

    \b
    sciret security roles --store https://host:9200/papers > roles.yml
    sciret security roles --mappings --group reader=library-staff > roles_mapping.yml
    sciret security roles --format console

    An embargo ends by itself: the rule compares its date with the day on which somebody searches.
    """
    from sciret.connector import roles as connector

    alias = chosen_alias(store)
    made, mapped = connector.roles(alias), connector.mappings(alias, given)
    if format_ == "json":
        click.echo(json.dumps({"roles": made, "rolesmapping": mapped}, indent=2))
    elif format_ == "console":
        click.echo("\n\n".join(requests(made, mapped)))
    else:
        kind, content = ("rolesmapping", mapped) if mappings else ("roles", made)
        click.echo("\n".join(yaml({"_meta": {"type": kind, "config_version": 2}, **content})))


def chosen_alias(store: str | None) -> str:
    """Of the address that is given, or that settings name."""
    from sciret.connector.address import Address, is_address

    name = load_settings({"store": store}).store
    return Address.parse(name).alias if store is not None or is_address(name) else "papers"


def requests(made: Mapping[str, Any], mapped: Mapping[str, Any]) -> Iterator[str]:
    """To the plugin's REST API, a role before who has it."""
    for path, documents in (("roles", made), ("rolesmapping", mapped)):
        for name, document in documents.items():
            yield f"PUT /_plugins/_security/api/{path}/{name}\n{json.dumps(document, indent=2)}"


def yaml(value: Mapping[str, Any], indent: int = 0) -> Iterator[str]:
    """Mappings and lists in blocks, texts in single quotes: the little of YAML that roles need."""
    margin = " " * indent
    for name, each in value.items():
        if isinstance(each, Mapping):
            yield f"{margin}{_key(name)}:"
            yield from yaml(each, indent + 2)
        elif isinstance(each, list):
            yield f"{margin}{_key(name)}:"
            yield from _items(each, indent + 2)
        else:
            yield f"{margin}{_key(name)}: {_scalar(each)}"


def _items(values: list[Any], indent: int) -> Iterator[str]:
    margin = " " * indent
    for each in values:
        if isinstance(each, Mapping):
            first, *rest = yaml(each, indent + 2)
            yield f"{margin}- {first.lstrip()}"
            yield from rest
        else:
            yield f"{margin}- {_scalar(each)}"


def _key(name: str) -> str:
    return name if name.replace("_", "").isalnum() and name.isascii() else _scalar(name)


def _scalar(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
