"""`sciret show`: one paper with everything that is stored of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from sciret.cli.options import access_option, existing_store_option, json_option
from sciret.settings import load_settings

if TYPE_CHECKING:
    from sciret.encoded import EncodedPaper


@click.command()
@click.argument("paper_id")
@existing_store_option
@access_option
@json_option
def command(paper_id: str, store: str | None, access: str, as_json: bool) -> None:
    """Show everything that the store keeps of a paper.

    \b
    sciret show p17

    The numbers of the sentences are those that `sciret search --like p17 --sentences 2,3` takes, and their roles are
    what --aspect chooses by.
    """
    from sciret.cli.output import print_json
    from sciret.cli.stores import open_store
    from sciret.retrieval.queries import open_paper

    with open_store(load_settings({"store": store}), create=False) as opened:
        stored = open_paper(opened, paper_id, restricted=access == "all")
    if as_json:
        print_json(paper_record(stored))
    else:
        print_paper(stored)


def paper_record(stored: EncodedPaper) -> Mapping[str, Any]:
    """All fields of the paper, empty ones too, and the keyphrases of most weight that the model gave it; `sentences`
    are the stored ones with their numbers and roles."""
    from sciret.encoders.learned import top

    roles = stored.roles or (None,) * len(stored.sentences)
    return {
        **asdict(stored.paper),
        "keyphrases": top(stored.keyphrases),
        "sentences": [
            {"number": number, "role": role, "text": text}
            for number, (text, role) in enumerate(zip(stored.sentences, roles, strict=True), start=1)
        ],
        "truncated": stored.truncated,
        "content_hash": stored.paper.content_hash,
        "model": stored.model,
    }


def print_paper(stored: EncodedPaper) -> None:
    from sciret.cli.output import print_pairs
    from sciret.cli.terminal import harmless

    record = dict(paper_record(stored))
    sentences = record.pop("sentences")
    record.pop("abstract")  # it is its sentences, which follow
    print_pairs((name, _joined(value)) for name, value in record.items())
    click.echo()
    for sentence in sentences:
        role = f" [{sentence['role']}]" if sentence["role"] else ""
        click.echo(f"{sentence['number']:>3}{role} {harmless(sentence['text'])}")


def _joined(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, tuple) else value
