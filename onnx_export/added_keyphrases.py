"""New keyphrases for a bundle, without training: `sciret vocab add`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sciret.encoders.bundle import KEYPHRASES, Bundle, load_bundle
from sciret.encoders.phrase_words import phrase_letters
from sciret.encoders.phrases import PhraseMatcher
from sciret.errors import BundleError, MissingExtraError, SettingsError

try:
    from sciret.onnx_export.changed_bundle import NewKeyphrases, write_changed
    from sciret.onnx_export.phrase_rows import Phrase, learn
    from sciret.onnx_export.target import check_target
except ModuleNotFoundError as error:
    raise MissingExtraError("sciret vocab add", "export") from error

LEAST = 20
"""Keyphrases that a bundle must have, for something to be learned from them."""
MOST = 4_000
"""Keyphrases that are learned from: many more than a row has numbers."""
PROVENANCE = "added_keyphrases"


@dataclass(frozen=True, slots=True)
class Added:
    bundle: Bundle
    names: tuple[str, ...]
    keyphrases: int
    """All that the bundle now has."""
    cosine: float
    """How well rows of keyphrases that were trained are guessed, on those that the guess was not fitted to."""


def add_keyphrases(source: str, phrases: Sequence[Phrase], out: Path, *, force: bool = False) -> Added:
    """The bundle `source` with these keyphrases too, as `out`."""
    bundle = load_bundle(source)
    if "keyphrases" not in bundle.outputs:
        raise BundleError(f"{source}: gives no keyphrases ({', '.join(bundle.outputs)}), so none can be added")
    check_target(out, force)
    matcher = PhraseMatcher.load(bundle.path(KEYPHRASES))
    phrases = checked(phrases, matcher)
    if len(matcher.phrases) < LEAST:
        raise BundleError(f"{source}: has {len(matcher.phrases)} keyphrases; to learn from, it takes {LEAST}")
    reader, guesses = learn(bundle, matcher.phrases, MOST)
    read = reader.read(phrases)
    columns = {precision: guess.columns(read) for precision, guess in guesses.items()}
    weights = guesses[bundle.precisions[0]].query_weights(read)
    cosine = guesses[bundle.precisions[0]].cosine
    names = tuple(phrase.text for phrase in phrases)
    noted = {
        "to": bundle.fingerprint,
        "phrases": [{"phrase": p.text, **({"description": p.description} if p.description else {})} for p in phrases],
        "cosine": round(cosine, 4),
    }
    provenance = {PROVENANCE: [*bundle.provenance.get(PROVENANCE, ()), noted]}
    kept = np.arange(len(matcher.phrases))
    made = write_changed(bundle, out, kept, NewKeyphrases(names, columns, weights), provenance, force=force)
    return Added(made, names, len(kept) + len(names), cosine)


def checked(phrases: Sequence[Phrase], matcher: PhraseMatcher) -> list[Phrase]:
    """In the lower case that vocabularies are written in, each new and none twice."""
    if not phrases:
        raise SettingsError("no phrase was given to add")
    made: dict[str, Phrase] = {}
    for phrase in phrases:
        text = " ".join(phrase.text.split()).lower()
        letters = phrase_letters(text)
        if not letters or not text.isprintable():
            raise SettingsError(f"{phrase.text!r} is no phrase: it has no word in it, or what cannot be printed")
        if (number := matcher.number(text)) is not None:
            raise SettingsError(f"{phrase.text!r} is there already, as {matcher.phrases[number]!r}; leave it out")
        if letters in made:
            raise SettingsError(f"{phrase.text!r} and {made[letters].text!r} are one phrase; give it once")
        made[letters] = Phrase(text, " ".join(phrase.description.split()))
    return list(made.values())
