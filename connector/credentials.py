"""Who we are to a cluster, and whom we trust: from settings, a file or a prompt, never from a command line."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from getpass import getpass
from pathlib import Path
from typing import Any

from sciret.errors import MissingExtraError, SettingsError
from sciret.settings import Settings


@dataclass(frozen=True, slots=True)
class Credentials:
    """Everything but the address. The password is left out of what is printed of it."""

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: Path | None = None
    """Certificates to trust instead of the system's."""
    certificate: Path | None = None
    key: Path | None = None
    aws_region: str | None = None
    """Requests are signed (SigV4) for a domain in this region."""
    insecure: bool = False
    """The server's certificate is not looked at: anybody on the way may read and change everything."""

    @classmethod
    def of(cls, settings: Settings) -> Credentials:
        """As the settings say. A user without a password is asked for it where somebody can answer."""
        user = settings.opensearch_user or None
        if user and settings.opensearch_aws:
            raise SettingsError(
                "SCIRET_OPENSEARCH_USER and SCIRET_OPENSEARCH_AWS are two ways to say who you are: unset one"
            )
        if settings.opensearch_key and not settings.opensearch_cert:
            raise SettingsError("SCIRET_OPENSEARCH_KEY is the key of a certificate: set SCIRET_OPENSEARCH_CERT too")
        return cls(
            user=user,
            password=_password(settings),
            ca=_file(settings.opensearch_ca, "SCIRET_OPENSEARCH_CA"),
            certificate=_file(settings.opensearch_cert, "SCIRET_OPENSEARCH_CERT"),
            key=_file(settings.opensearch_key, "SCIRET_OPENSEARCH_KEY"),
            aws_region=settings.opensearch_aws or None,
            insecure=settings.opensearch_insecure,
        )

    def authentication(self) -> Any:
        """What opensearch-py takes as `http_auth`."""
        if self.aws_region:
            return _signer(self.aws_region)
        return (self.user, self.password or "") if self.user else None


def _password(settings: Settings) -> str | None:
    if not settings.opensearch_user:
        if settings.opensearch_password or settings.opensearch_password_file:
            raise SettingsError("there is a password for OpenSearch, but no user: set SCIRET_OPENSEARCH_USER")
        return None
    if settings.opensearch_password:
        return settings.opensearch_password
    if settings.opensearch_password_file:
        path = Path(settings.opensearch_password_file)
        try:
            return path.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"SCIRET_OPENSEARCH_PASSWORD_FILE {path}: it cannot be read ({error})") from error
    if sys.stdin.isatty() and sys.stderr.isatty():
        return getpass(f"Password of {settings.opensearch_user}: ", stream=sys.stderr)
    raise SettingsError(
        f"no password for the user {settings.opensearch_user!r}: set SCIRET_OPENSEARCH_PASSWORD, or "
        f"SCIRET_OPENSEARCH_PASSWORD_FILE to a file that holds it"
    )


def _file(name: str, variable: str) -> Path | None:
    if not name:
        return None
    if not Path(name).is_file():
        raise SettingsError(f"{variable}: there is no file {name}")
    return Path(name)


def _signer(region: str) -> Any:
    try:
        import boto3
    except ImportError:
        raise MissingExtraError("signing requests for AWS", "aws") from None
    from opensearchpy import Urllib3AWSV4SignerAuth

    found = boto3.Session().get_credentials()
    if found is None:
        raise SettingsError("SCIRET_OPENSEARCH_AWS is set, but there are no AWS credentials: `aws configure` sets them")
    return Urllib3AWSV4SignerAuth(found, region, "es")
