"""Fit the classifier of sentence roles to abstracts that people have labelled, and put it into a bundle:

    python -m sciret.training.roles DATA.jsonl.gz BUNDLE

A line of DATA is `{"split": "train" | "dev" | "test", "sentences": [...], "labels": [...]}`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from sciret.encoded import Vector
from sciret.encoders.bundle import ROLES, Bundle, load_bundle, sha256, write_description
from sciret.encoders.encoder import Encoder
from sciret.encoders.roles import RoleClassifier, features
from sciret.errors import MissingExtraError, RecordError, SciretError
from sciret.paper import Paper

NAMES = ("background", "objective", "method", "result", "other")
SPLITS = ("train", "dev", "test")
PENALTIES = (3e-5, 1e-4, 3e-4)
SCALE = 20.0
"""A coordinate is divided by so many of its standard deviations: the thousand coordinates that a sentence is seen by
then weigh about as much as its dozen positional features, and one penalty fits both."""


@dataclass(frozen=True, slots=True, eq=False)
class Abstract:
    """An abstract with the role of each sentence, as a number in NAMES."""

    split: str
    sentences: tuple[str, ...]
    roles: npt.NDArray[np.int64]  # [S]


def train_roles(data: Path, bundle: Bundle) -> dict[str, Any]:
    """Fit on train, choose the penalty by macro F1 on dev, write the classifier into the bundle; figures of all that.

    The fingerprint stays: vectors do not depend on the classifier, and stores filled before remain good.
    """
    abstracts = list(read_abstracts(data))
    vectors = _encode(abstracts, Encoder.open(str(bundle.folder)))
    train, dev, test = ([(a.roles, v) for a, v in zip(abstracts, vectors, strict=True) if a.split == s] for s in SPLITS)
    fitted = {penalty: fit(train, penalty) for penalty in PENALTIES}
    chosen = max(fitted, key=lambda penalty: measure(fitted[penalty], dev)["macro_f1"])
    path = bundle.path(ROLES)
    fitted[chosen].save(path)
    stored = RoleClassifier.load(path)  # what is measured is what users get
    figures = {"penalty": chosen, "dev": measure(stored, dev), "test": measure(stored, test)}
    provenance = {**bundle.provenance, "roles": {"data": data.name, "sha256": sha256(data), **figures}}
    write_description(replace(bundle, files={**bundle.files, ROLES: sha256(path)}, provenance=provenance))
    return figures


def read_abstracts(path: Path) -> Iterator[Abstract]:
    """Lines of the data, in order; one that cannot be used is refused with its number."""
    reader = gzip.open if path.suffix == ".gz" else open
    with reader(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                roles = [NAMES.index(label) for label in row["labels"]]
                abstract = Abstract(row["split"], tuple(row["sentences"]), np.array(roles, dtype=np.int64))
            except (ValueError, KeyError, TypeError) as error:
                raise RecordError(f"{path}:{number}", f"not a labelled abstract ({error!r})", line) from error
            if not roles or len(roles) != len(abstract.sentences) or abstract.split not in SPLITS:
                raise RecordError(f"{path}:{number}", "it needs a split, sentences, and one label for each", line)
            yield abstract


def fit(labelled: Sequence[tuple[npt.NDArray[np.int64], Vector]], penalty: float) -> RoleClassifier:
    """A classifier for pairs of roles [S] and sentence vectors [S, d]."""
    try:
        from sciret.training.chain import fit_chain
    except ModuleNotFoundError as error:
        raise MissingExtraError("training", "train") from error
    scale = SCALE * np.concatenate([v - v.mean(axis=0) for _, v in labelled]).std(axis=0)  # [d]
    seen = [features(vectors, scale) for _, vectors in labelled]
    return RoleClassifier(NAMES, scale, *fit_chain(seen, [roles for roles, _ in labelled], len(NAMES), penalty))


def measure(classifier: RoleClassifier, labelled: Sequence[tuple[npt.NDArray[np.int64], Vector]]) -> dict[str, Any]:
    """Accuracy over sentences, F1 of each role and their mean."""
    given = np.array([NAMES[role] for roles, _ in labelled for role in roles])
    found = np.array([role for _, vectors in labelled for role in classifier.predict(vectors)])
    f1 = {name: _f1(given == name, found == name) for name in NAMES}
    macro = sum(f1.values()) / len(f1)
    return {"accuracy": round(float((given == found).mean()), 4), "macro_f1": round(macro, 4), "f1": f1}


def _f1(given: npt.NDArray[np.bool_], found: npt.NDArray[np.bool_]) -> float:
    return round(2 * float((given & found).sum()) / max(1, int(given.sum() + found.sum())), 4)


def _encode(abstracts: Sequence[Abstract], encoder: Encoder) -> list[Vector]:
    """Sentence vectors [S, d] in the context of the whole abstract, as in an ingest."""
    papers = (
        Paper(id=str(number), title="", abstract=" ".join(a.sentences), sentences=a.sentences)
        for number, a in enumerate(abstracts)
    )
    return [e.sentence_vectors for e in encoder.encode_papers(papers) if e.sentence_vectors is not None]


@click.command(help=__doc__)
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("bundle")
def main(data: Path, bundle: str) -> None:
    try:
        figures = train_roles(data, load_bundle(bundle))
    except SciretError as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
