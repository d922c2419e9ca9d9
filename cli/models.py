"""`sciret models`: which model bundles there are, and what is in one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from sciret.cli.options import json_option

if TYPE_CHECKING:
    from sciret.encoders.bundle import Bundle


@click.command()
@click.argument("bundle", required=False)
@json_option
def command(bundle: str | None, as_json: bool) -> None:
    """List the model bundles at hand, or describe one.

    \b
    sciret models
    sciret models default
    sciret models path/to/bundle

    Every file of a bundle is checked against its sha256 on the way. `used` is what --device auto comes to on this
    machine.
    """
    from sciret.cli.output import print_json, print_pairs
    from sciret.encoders.bundle import load_bundle, shipped
    from sciret.encoders.session import open_session

    if bundle is None:
        found = {name: load_bundle(name) for name in shipped()}
        if as_json:
            print_json({"models": [bundle_record(name, found[name]) for name in found]})
        else:
            print_pairs((name, summary(each)) for name, each in found.items())
        return
    loaded = load_bundle(bundle)
    session = open_session(loaded)
    used = {"device": session.device, "precision": session.precision, "threads": session.threads}
    record = {**bundle_record(bundle, loaded), "used": used}
    if as_json:
        print_json(record)
    else:
        print_pairs(flat(record))


def bundle_record(name: str, bundle: Bundle) -> Mapping[str, Any]:
    """What `bundle.json` says, with the size of the files."""
    return {
        "bundle": name,
        "name": bundle.name,
        "folder": str(bundle.folder),
        "outputs": list(bundle.outputs),
        "dims": bundle.dims,
        "max_length": bundle.max_length,
        "pooling": bundle.pooling,
        "similarity": bundle.similarity,
        "sparse": asdict(bundle.sparse) if bundle.sparse else None,
        "precisions": list(bundle.precisions),
        "bytes": size(bundle),
        "fingerprint": bundle.fingerprint,
        "licence": bundle.licence,
        "parity": dict(bundle.parity),
        "provenance": dict(bundle.provenance),
        "files": dict(bundle.files),
    }


def size(bundle: Bundle) -> int:
    return sum(bundle.path(name).stat().st_size for name in bundle.files)


def summary(bundle: Bundle) -> str:
    outputs = " + ".join(bundle.outputs)
    precisions = "/".join(bundle.precisions)
    return f"{bundle.name}: {outputs}, {bundle.dims} dims, {precisions}, {size(bundle) / 1e6:.1f} MB, {bundle.licence}"


def flat(record: Mapping[str, Any], prefix: str = "") -> Mapping[str, object]:
    """Nested objects as dotted names, lists as one line: {"parity": {"int8": 0.99}} becomes parity.int8."""
    pairs: dict[str, object] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            pairs.update(flat(value, f"{prefix}{name}."))
        else:
            pairs[prefix + name] = ", ".join(map(str, value)) if isinstance(value, list) else value
    return pairs
