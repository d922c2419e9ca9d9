"""Saved objects into a running OpenSearch Dashboards, by its own import."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import urllib3  # comes with opensearch-py, which needs it itself
from urllib3.exceptions import HTTPError, SSLError

from sciret.connector.credentials import Credentials
from sciret.errors import SettingsError, StoreError

IMPORT = "/api/saved_objects/_import?overwrite=true"
FILE_NAME = "sciret.ndjson"
"""Dashboards looks at the ending and refuses any other."""
TIMEOUT = 60.0


def install(url: str, objects: str, who: Credentials, tenant: str | None = None) -> int:
    """How many objects are there now. Those that were there under the same ids are replaced."""
    base = check_url(url)
    check_login(base, who)
    pool = _pool(who)
    try:
        answer = pool.request(
            "POST",
            base + IMPORT,
            fields={"file": (FILE_NAME, objects.encode("utf-8"), "application/ndjson")},
            headers=_headers(who, tenant),
            redirect=False,
            retries=False,
            timeout=TIMEOUT,
        )
    except SSLError as error:
        raise StoreError(
            f"{base}: the certificate cannot be verified ({error}); give its authority with SCIRET_OPENSEARCH_CA=FILE"
        ) from error
    except HTTPError as error:
        raise StoreError(f"{base}: no answer ({error}); is OpenSearch Dashboards running there?") from error
    finally:
        pool.clear()
    return _imported(base, answer.status, answer.data)


def check_url(url: str) -> str:
    """An address with a scheme, and with a base path where Dashboards has one; a password has no place in it."""
    example = "give an address such as https://dashboards.example.org:5601"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        raise SettingsError(f"--dashboards-url: that is no address; {example}") from None
    if parts.username or parts.password:
        raise SettingsError(
            "--dashboards-url: leave user and password out of the address, where logs would keep them; "
            "set SCIRET_OPENSEARCH_USER and SCIRET_OPENSEARCH_PASSWORD"
        )
    if not usable:
        raise SettingsError(f"--dashboards-url {url!r}: {example}")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def check_login(base: str, who: Credentials) -> None:
    """The same caution as with the cluster itself."""
    if who.aws_region:
        raise SettingsError(
            "the Dashboards of an AWS domain want a login of their own: run `sciret dashboards export FILE` and import "
            "the file there, or unset SCIRET_OPENSEARCH_AWS and set SCIRET_OPENSEARCH_USER"
        )
    if who.user and base.startswith("http:") and urlsplit(base).hostname not in ("127.0.0.1", "::1", "localhost"):
        raise StoreError(f"{base}: a password is not sent without TLS: write https:// instead of http://")


def _pool(who: Credentials) -> urllib3.PoolManager:
    options: dict[str, Any] = {"cert_reqs": "CERT_NONE" if who.insecure else "CERT_REQUIRED"}
    if who.ca and not who.insecure:
        options["ca_certs"] = str(who.ca)
    if who.certificate:
        options |= {"cert_file": str(who.certificate), "key_file": str(who.key) if who.key else None}
    if who.insecure:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # the command itself has warned
    return urllib3.PoolManager(**options)


def _headers(who: Credentials, tenant: str | None) -> dict[str, str]:
    headers = {"osd-xsrf": "true"}
    if who.user is not None:
        # By hand: urllib3's own way knows only the letters of Latin-1.
        login = f"{who.user}:{who.password or ''}".encode()
        headers["authorization"] = f"Basic {b64encode(login).decode()}"
    if tenant is not None:
        headers["securitytenant"] = tenant
    return headers


REMEDIES = {
    302: "it asks for a login; set SCIRET_OPENSEARCH_USER and its password",
    401: "it does not know this user and password; set SCIRET_OPENSEARCH_USER and its password",
    403: "this user may not write saved objects there; choose another user, or another --tenant",
    404: "there is no import of saved objects; is this the address of OpenSearch Dashboards, with its base path?",
    405: "this is not OpenSearch Dashboards; its port is 5601 unless someone changed it",
    413: "the file is too large for it; raise savedObjects.maxImportPayloadBytes",
    503: "it is not ready yet; try again in a minute",
}
REMEDIES |= dict.fromkeys((406, 415), REMEDIES[405])


def _imported(base: str, status: int, data: bytes) -> int:
    if status == 400 and b"no handler found" in data:
        status = 405  # the words of the cluster itself
    if status != 200:
        remedy = REMEDIES.get(status, f"it says {data[:200].decode('utf-8', 'replace')!r}")
        raise StoreError(f"{base} answered {status}: {remedy}")
    try:
        answer: Mapping[str, Any] = json.loads(data)
        count, complete = int(answer["successCount"]), bool(answer["success"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{base}: this is not the answer of OpenSearch Dashboards; check the address") from error
    if not complete:
        raise StoreError(f"{base} took {count} objects and refused others: {_refused(answer.get('errors') or [])}")
    return count


def _refused(errors: list[Mapping[str, Any]]) -> str:
    told = [f"{each.get('type')} {each.get('id')} ({each.get('error', {}).get('type')})" for each in errors[:3]]
    return ", ".join(told) + (f" and {len(errors) - 3} more" if len(errors) > 3 else "")
