"""`sciret vocab add`: keyphrases that a bundle was not trained with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sciret.cli.options import json_option

if TYPE_CHECKING:
    from sciret.onnx_export.phrase_rows import Phrase


@click.command()
@click.argument("phrases", nargs=-1, metavar="[PHRASE]...")
@click.option("--description", metavar="TEXT", help="What the phrase means, in a sentence or two; for one phrase.")
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="More phrases, one a line; a description may follow a tab.",
)
@click.option(
    "--model",
    default="default",
    show_default=True,
    metavar="BUNDLE",
    help="The bundle to add to, by name or folder; it stays as it is.",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FOLDER", help="The bundle to write.")
@click.option("--force", is_flag=True, help="Replace the bundle that is in FOLDER.")
@json_option
def add(
    phrases: tuple[str, ...],
    description: str | None,
    file: Path | None,
    model: str,
    out: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Give a bundle keyphrases that it was not trained with, without training.

    \b
    sciret vocab add agrivoltaics --out bundles/mine
    sciret vocab add --file phrases.txt --model bundles/mine --out bundles/more

    What a new keyphrase weighs in a paper is guessed from its wordpieces and from how the encoder reads it; how, is
    learned from the keyphrases that the bundle has. `guessed` is the cosine of guessed and trained decoder rows, on
    keyphrases held out of that. The new bundle is another model: papers are ingested anew with it.

    Needs the extra: pip install 'sciret[export]'.
    """
    from sciret.cli.output import print_json, print_pairs
    from sciret.onnx_export.added_keyphrases import add_keyphrases

    added = add_keyphrases(model, asked(phrases, description, file), out, force=force)
    record = {
        "bundle": str(out),
        "added": list(added.names),
        "keyphrases": added.keyphrases,
        "guessed": round(added.cosine, 3),
        "fingerprint": added.bundle.fingerprint,
    }
    if as_json:
        print_json(record)
    else:
        print_pairs({**record, "added": ", ".join(added.names)})


def asked(phrases: tuple[str, ...], description: str | None, file: Path | None) -> list[Phrase]:
    from sciret.errors import SettingsError
    from sciret.onnx_export.phrase_rows import Phrase

    if description is not None and len(phrases) != 1:
        raise click.UsageError("--description is of one PHRASE; give several in a --file, each with its own.")
    if not phrases and file is None:
        raise click.UsageError("Give a PHRASE, several, or a --file of them.")
    found = [Phrase(phrase, description or "") for phrase in phrases]
    if file is None:
        return found
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read ({error}); give a text file in UTF-8, a phrase a line") from error
    for line in lines:
        phrase, _, about = line.partition("\t")
        if phrase.strip():
            found.append(Phrase(phrase, about))
    return found
