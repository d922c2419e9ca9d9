"""Roles of the security plugin for one store: who may do what, and which papers and fields they get to see.

What is derived from a text (words, tokens, keyphrases, vectors, sentences) inherits its access: a reader gets no
document of a paper that is not open, so there is nothing of it to be searched, shown or explained.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sciret.connector.address import checked_alias
from sciret.connector.versions import SUFFIXES
from sciret.errors import SettingsError

ROLES = ("reader", "catalogue", "ingest", "admin")
OVER = "doc['embargo_end'].size() > 0 && doc['embargo_end'].value.toInstant().toEpochMilli() <= new Date().getTime()"
"""The plugin refuses `now` in a rule unless a node is started with an option that it calls unsupported; a script may
ask for the time."""
OPEN: Mapping[str, Any] = {
    "bool": {
        "should": [
            {"term": {"access": "open"}},
            {"bool": {"filter": [{"term": {"access": "embargoed"}}, {"script": {"script": {"source": OVER}}}]}},
        ],
        "minimum_should_match": 1,
    }
}
"""As `Paper.is_searchable`: open, or under an embargo that ended. Days begin at midnight UTC."""
CATALOGUE = (
    *("id", "title", "title.*", "authors", "year", "date", "keywords", "venue", "doi", "url", "language", "type"),
    *("collections", "source", "access", "embargo_end", "has_abstract"),
)
"""What a library's catalogue shows of any paper."""

_LOOK = ["indices:admin/mappings/get", "indices:admin/aliases/get", "indices:monitor/stats"]
_READ = ["read", *_LOOK]
_WRITE = [
    *("read", "write", "indices:admin/mapping/put", "indices:admin/refresh*", "indices:admin/get"),
    *("indices:admin/settings/update", "indices:monitor/settings/get", "indices:admin/aliases/get"),
    *("indices:admin/mappings/get", "indices:monitor/stats"),
]
_EVENTS = {
    "index_patterns": ["sciret-ingest-events"],
    "allowed_actions": ["write", "create_index", "indices:admin/get", "indices:admin/mappings/get"],
}


def roles(alias: str) -> dict[str, dict[str, Any]]:
    """By name, as roles.yml and the REST API have them."""
    return {role_name(alias, role): _role(alias, role) for role in ROLES}


def role_name(alias: str, role: str) -> str:
    return f"sciret_{checked_alias(alias)}_{role}"


def _role(alias: str, role: str) -> dict[str, Any]:
    patterns = [*(alias + suffix for suffix in SUFFIXES.values()), f"{alias}-0*"]  # as `read_versions` asks for them
    if role == "reader":
        rule = {"dls": json.dumps(OPEN), "allowed_actions": _READ}
        return _described("Searches papers that are open, and sees nothing of the others.", _ASK, patterns, rule)
    if role == "catalogue":
        rule = {"fls": list(CATALOGUE), "allowed_actions": _READ}
        return _described("Sees the bibliography of all papers, and nothing made of their texts.", _ASK, patterns, rule)
    if role == "ingest":
        rule = {"allowed_actions": _WRITE}
        text = "Writes and deletes papers of all kinds in a store that is there."
        return _described(text, [*_ASK, "cluster_composite_ops"], patterns, rule, _EVENTS)
    rule = {"allowed_actions": ["indices_all"]}
    text = "Makes, migrates and removes the versions of the store, and does all that the others may."
    return _described(text, [*_ASK, *_MANAGE], patterns, rule, _EVENTS)


_ASK = ["cluster:monitor/main", "cluster_composite_ops_ro"]
_MANAGE = [
    *("cluster_composite_ops", "cluster:monitor/*", "cluster_manage_index_templates"),
    *("indices:admin/index_template/*", "cluster:admin/component_template/*", "cluster:manage_point_in_time"),
]


def _described(
    description: str, cluster: Sequence[str], patterns: Sequence[str], rule: Mapping[str, Any], *more: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "description": description,
        "cluster_permissions": list(cluster),
        "index_permissions": [{"index_patterns": list(patterns), **rule}, *more],
    }


def mappings(alias: str, backend_roles: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Any]]:
    """Who has which role: groups of the directory by role, or a group of the role's own name where none is given."""
    for role in backend_roles:
        if role not in ROLES:
            raise SettingsError(f"there is no role {role!r}; there are {', '.join(ROLES)}")
    names = {role: role_name(alias, role) for role in ROLES}
    return {name: {"backend_roles": list(backend_roles.get(role, (name,)))} for role, name in names.items()}
