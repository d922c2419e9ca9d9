"""The features of a bundle that gives sparse vectors: wordpieces and keyphrases, by number, with their weights.

`features.npz` says what each weighs in a query that no graph reads. A wordpiece of weight 0 is no feature, and where it
stands in a text, the graph does not look.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sciret.encoded import Vector
from sciret.encoders.bundle import FEATURES, KEYPHRASES, Bundle, Sparse
from sciret.encoders.learned import heaviest, limit
from sciret.encoders.phrases import PhraseMatcher
from sciret.encoders.text import ModelInput, Vocabulary
from sciret.errors import BundleError

Parts: TypeAlias = tuple[dict[str, float], dict[str, float]]
"""Tokens and keyphrases of one text."""

ARRAYS = {"tokens": "token_weights", "keyphrases": "keyphrase_weights"}


class Features:
    """Immutable but for what is made at first use, so any number of threads may use one."""

    def __init__(
        self,
        settings: Sparse,
        tokens: tuple[Sequence[str], Vector],
        keyphrases: tuple[Sequence[str], Vector],
    ) -> None:
        """Names and weights [V] of wordpieces, names and weights [K] of keyphrases."""
        self._settings = settings
        self._names: Mapping[str, Sequence[str]] = {"tokens": tokens[0], "keyphrases": keyphrases[0]}
        self._token_weights, self._keyphrase_weights = tokens[1], keyphrases[1]
        self.weighs: npt.NDArray[np.bool_] = self._token_weights > 0  # [V] wordpieces that a graph looks at
        self.encoded = bool(keyphrases[0]) and settings.query_keyphrases != "weighted"
        """The graph has to read a query for its sparse vector."""
        self.encoded |= settings.query_tokens != "weighted"

    @property
    def beta(self) -> float:
        return self._settings.beta

    def of_paper(self, rows: Mapping[str, Vector]) -> Parts:
        """From the graph's weights of one text, [V] and [K]."""
        return self._pruned("tokens", rows), self._pruned("keyphrases", rows)

    def of_query(self, text: ModelInput, rows: Mapping[str, Vector]) -> Parts:
        """`rows` are not looked at for a part that is weighted, so they need not be of this text."""
        settings = self._settings
        tokens = self._pruned("tokens", rows) if settings.query_tokens != "weighted" else {}
        keyphrases = self._pruned("keyphrases", rows) if settings.query_keyphrases != "weighted" else {}
        if settings.query_tokens != "encoded":
            tokens = _sum(tokens, self._words(text))
        if settings.query_keyphrases != "encoded":
            keyphrases = _sum(keyphrases, self._phrases(" ".join(text.sentences)))
        return limit(tokens, keyphrases, settings.beta, settings.query_features)

    def _pruned(self, part: str, rows: Mapping[str, Vector]) -> dict[str, float]:
        if part not in rows:
            return {}
        weights, names = rows[part], self._names[part]
        kept = heaviest(weights, self._settings.mass)
        return {names[i]: weight for i, weight in zip(kept.tolist(), weights[kept].tolist(), strict=True)}

    def _words(self, text: ModelInput) -> dict[str, float]:
        """Each wordpiece as often as it stands in the query, times its weight."""
        ids, counts = np.unique(text.ids[text.content(self.weighs)], return_counts=True)
        names, weights = self._names["tokens"], counts * self._token_weights[ids]
        return {names[i]: weight for i, weight in zip(ids.tolist(), weights.tolist(), strict=True)}

    def _phrases(self, text: str) -> dict[str, float]:
        """Each keyphrase that stands in the query, nested in another or not, once."""
        found = dict.fromkeys(match.phrase for match in self._matcher.find(text))
        names = self._names["keyphrases"]
        return {names[i]: float(self._keyphrase_weights[i]) for i in found}

    @cached_property
    def _matcher(self) -> PhraseMatcher:
        return PhraseMatcher(self._names["keyphrases"])


def _sum(first: dict[str, float], second: dict[str, float]) -> dict[str, float]:
    return {name: first.get(name, 0.0) + second.get(name, 0.0) for name in {**first, **second}}


def load_features(bundle: Bundle, vocabulary: Vocabulary, widths: Mapping[str, int]) -> Features | None:
    """None for a bundle without sparse vectors. Tokenizer, vocabulary, weights and the rows of the graph's outputs, of
    these widths, have to belong together."""
    if bundle.sparse is None:
        return None
    path = bundle.path(FEATURES)
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise BundleError(f"{path}: not a file of weights ({error}); export the model again") from error
    names: dict[str, Sequence[str]] = {"tokens": vocabulary.names, "keyphrases": _keyphrases(bundle)}
    for part, array in ARRAYS.items():
        if widths.get(part, len(names[part])) != len(names[part]):
            raise BundleError(
                f"{bundle.folder}: the graph gives {widths[part]} {part}, but the bundle has {len(names[part])}; "
                f"export the model again"
            )
        _check(f"{path}: {array}", arrays.get(array), part, len(names[part]))
    token_weights, keyphrase_weights = (arrays[array] for array in ARRAYS.values())
    if (token_weights[list(vocabulary.special)] > 0).any():
        raise BundleError(f"{path}: a special token of the tokenizer has a weight; export the model again")
    return Features(bundle.sparse, (names["tokens"], token_weights), (names["keyphrases"], keyphrase_weights))


def _keyphrases(bundle: Bundle) -> list[str]:
    """One a line; that no two are spellings of one phrase was seen to when the vocabulary was made."""
    if "keyphrases" not in bundle.outputs:
        return []
    path = bundle.path(KEYPHRASES)
    try:
        phrases = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise BundleError(f"{path}: not UTF-8 ({error}); export the model again") from error
    if not all(phrases) or len(set(phrases)) != len(phrases):
        raise BundleError(f"{path}: a line is empty or there twice; export the model again")
    return phrases


def _check(what: str, weights: npt.NDArray[Any] | None, part: str, count: int) -> None:
    if weights is None or weights.dtype != np.float32 or weights.shape != (count,):
        found = "none" if weights is None else f"{weights.dtype} {list(weights.shape)}"
        raise BundleError(
            f"{what} is {found}, but the bundle has {count} {part}, a float32 each; export the model again"
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise BundleError(f"{what} has a number that is negative or not finite; export the model again")
