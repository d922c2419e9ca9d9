"""The security plugin of a local OpenSearch: certificates, users and roles that are good for nothing else."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciret.connector.local_node import Login
from sciret.errors import MissingExtraError

USERS: Mapping[str, tuple[str, ...]] = {"admin": ("all_access",), "reader": ("reader",), "nobody": ()}
"""Who there is, and the roles they have."""
ROLES: Mapping[str, Any] = {
    "reader": {
        "cluster_permissions": ["cluster_composite_ops_ro", "cluster_monitor"],
        "index_permissions": [{"index_patterns": ["*"], "allowed_actions": ["read", "indices_monitor"]}],
    }
}
BASIC = {
    "http_enabled": True,
    "order": 1,
    "http_authenticator": {"type": "basic", "challenge": True},
    "authentication_backend": {"type": "intern"},
}
CERTIFICATE = {
    "http_enabled": True,
    "order": 0,
    "http_authenticator": {"type": "clientcert", "challenge": False, "config": {"username_attribute": "cn"}},
    "authentication_backend": {"type": "noop"},
}


@dataclass(frozen=True, slots=True)
class Security:
    """A folder with everything that nodes and clients need; made once, so that a server can be started again on it."""

    folder: Path

    @property
    def ca(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def stranger(self) -> Path:
        """Another authority, which has signed nothing here."""
        return self.folder / "stranger.pem"

    @property
    def node_files(self) -> Path:
        """What a node has in its configuration."""
        return self.folder / "node"

    @property
    def passwords(self) -> dict[str, str]:
        return {name: self.password_file(name).read_text(encoding="utf-8") for name in USERS}

    def password_file(self, user: str) -> Path:
        return self.folder / f"{user}.password"

    def certificate(self, user: str) -> tuple[Path, Path]:
        """Certificate and key by which a user is known without a password."""
        return self.folder / f"{user}.pem", self.folder / f"{user}.key"

    @property
    def login(self) -> Login:
        return Login("admin", self.passwords["admin"], self.ca)

    def settings(self) -> dict[str, Any]:
        pem = {"pemcert_filepath": "node.pem", "pemkey_filepath": "node.key", "pemtrustedcas_filepath": "ca.pem"}
        both = {
            f"plugins.security.ssl.{side}.{name}": file for side in ("transport", "http") for name, file in pem.items()
        }
        return {
            **both,
            "plugins.security.ssl.http.enabled": True,
            "plugins.security.ssl.http.clientauth_mode": "OPTIONAL",
            "plugins.security.ssl.transport.enforce_hostname_verification": False,
            "plugins.security.nodes_dn": ["CN=node,O=sciret"],
            "plugins.security.allow_default_init_securityindex": True,
            "plugins.security.restapi.roles_enabled": ["all_access"],
        }


def prepare_security(folder: Path) -> Security:
    """What is in the folder, or new certificates and passwords."""
    security = Security(folder)
    if security.node_files.is_dir():
        return security
    from sciret.connector.local_certificates import Authority

    rules = folder / "node.new" / "opensearch-security"
    rules.mkdir(parents=True, exist_ok=True)
    authority = Authority.make("sciret local authority")
    Authority.make("stranger").write(security.stranger)
    for place in (security.ca, rules.parent / "ca.pem"):
        authority.write(place)
    authority.issue("node", rules.parent / "node.pem", rules.parent / "node.key")
    for user in USERS:
        authority.issue(user, *security.certificate(user))
        file = security.password_file(user)
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(18), encoding="utf-8")
    for name, content in _rules(security.passwords).items():
        document = {"_meta": {"type": name.replace("_", ""), "config_version": 2}, **content}
        (rules / f"{name}.yml").write_text(json.dumps(document, indent=1), encoding="utf-8")
    rules.parent.rename(security.node_files)  # last, so that a folder that was left half made is made anew
    return security


def _rules(passwords: Mapping[str, str]) -> dict[str, Any]:
    """The plugin's own files, by their names."""
    users = {user: {"hash": _hash(password), "reserved": False} for user, password in passwords.items()}
    mapping = {role: {"users": [user]} for user, roles in USERS.items() for role in roles}
    dynamic = {"http": {"anonymous_auth_enabled": False}, "authc": {"basic": BASIC, "certificate": CERTIFICATE}}
    return {
        "config": {"config": {"dynamic": dynamic}},
        "internal_users": users,
        "roles": ROLES,
        "roles_mapping": mapping,
        "action_groups": {},
        "tenants": {},
        "nodes_dn": {},
    }


def _hash(password: str) -> str:
    try:
        import bcrypt
    except ModuleNotFoundError:
        raise MissingExtraError("a local OpenSearch with security", "server") from None
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(10)).decode()
