"""What `sciret attach` makes sure of before it reads a whole index: fields that are there, and a place for papers."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import islice

from sciret.connector.address import Address, checked_alias
from sciret.connector.attachment import Attachment, load_attachment, save_attachment
from sciret.connector.client import Client
from sciret.connector.existing import Existing
from sciret.connector.field_map import FieldMap, value_at
from sciret.connector.identity import find_identity
from sciret.connector.indices import create_index, index_meta, index_name
from sciret.connector.reader import IndexReader
from sciret.errors import SettingsError, StoreError
from sciret.mappings.options import IndexOptions

SAMPLE = 100
"""Documents that are looked at for a field that the mapping does not know."""


def sidecar_address(existing: Address) -> Address:
    """`sciret-library` for `library`: no pattern like `library*` that others search by takes it in."""
    return replace(existing, alias=checked_alias(f"sciret-{existing.alias}"))


def check_fields(client: Client, existing: Existing, fields: FieldMap) -> None:
    """Refuse a path that nothing is at: a typing mistake, after which every document would be refused or poorer."""
    unknown = {name: path for name, path in fields.paths.items() if existing.field_type(path) is None}
    if not unknown:
        return
    reader = IndexReader(client, existing.parts, list(unknown.values()))
    with closing(iter(reader)) as documents:
        sample = list(islice(documents, SAMPLE))
    for name, path in unknown.items():
        if sample and not any(value_at(document.source, path) for document in sample):
            option = f"--{name} {path}" if name in ("title", "abstract") else f"--field {name}={path}"
            raise SettingsError(
                f"{option}: none of {len(sample)} documents of {existing.name} has anything there, nor is it in the "
                f"mapping; there are {', '.join(existing.fields_of('text', 'keyword')[:30]) or 'no fields'}"
            )


def check_sidecar(client: Client, existing: Existing) -> Attachment | None:
    """Refuse a place that has other things in it. What it remembers, where it was attached before."""
    address = client.address
    if address.alias in (existing.name, *(index.name for index in existing.indices)):
        raise SettingsError(
            f"--into {address} is the existing index itself: leave --into out for an index beside it, or add the "
            f"fields to its own documents with --in-place"
        )
    identity = find_identity(client)
    if identity is None:
        return None
    attachment = load_attachment(client)
    if attachment is None and client.call("GET", f"/{client.path}/_count")["count"]:
        raise StoreError(
            f"{address} has papers that came otherwise, and would be mixed with those of {existing.name}: "
            f"choose another place with --into"
        )
    return attachment


def prepare_sidecar(client: Client, attachment: Attachment) -> None:
    """An index that knows from its beginning what it follows: whoever is killed then can go on."""
    if find_identity(client) is None:
        alias, options = client.address.alias, IndexOptions()
        meta = index_meta(options, model=None, dims=None)
        create_index(client, index_name(alias, 1), options, meta, alias=alias)
    save_attachment(client, attachment)


def check_attachment(before: Attachment | None, wanted: Attachment, where: Address) -> Attachment:
    """What to go on with: where it was broken off, or from the beginning if papers are made of other fields now."""
    if before is None:
        return wanted
    if before.source != wanted.source:
        raise StoreError(
            f"{where} is attached to {before.source}, not to {wanted.source}: choose another place with --into"
        )
    return before if before.means_the_same(wanted) else wanted
