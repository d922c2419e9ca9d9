"""The cluster that a store's address names, for commands that manage it rather than search it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sciret.cli.output import warn
from sciret.errors import SettingsError
from sciret.settings import Settings

if TYPE_CHECKING:
    from sciret.connector.client import Client
    from sciret.connector.credentials import Credentials


def credentials_of(settings: Settings) -> Credentials:
    from sciret.connector.credentials import Credentials

    who = Credentials.of(settings)
    if who.insecure:
        warn("TLS CERTIFICATES ARE NOT VERIFIED (SCIRET_OPENSEARCH_INSECURE): anybody on the way can read the password")
    return who


@contextmanager
def open_cluster(settings: Settings) -> Iterator[Client]:
    """Connected for as long as the block lasts."""
    from sciret.connector.address import EXAMPLE, Address, is_address
    from sciret.connector.client import connect

    if not is_address(settings.store):
        raise SettingsError(
            f"{settings.store!r} is a file: versions are those of a store on OpenSearch, such as --store {EXAMPLE}"
        )
    client = connect(Address.parse(settings.store), credentials_of(settings))
    try:
        yield client
    finally:
        client.close()
