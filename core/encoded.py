"""What an encoder makes of a paper or a query. Vectors are float32, L2-normalised, so a dot product is a cosine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sciret.paper import Paper

Vector: TypeAlias = npt.NDArray[np.float32]
"""One vector [d], or a matrix of them [n, d]."""


@dataclass(frozen=True, slots=True, eq=False)
class EncodedPaper:
    """A paper with everything a store indexes of it. A part that the model does not give is empty or None."""

    paper: Paper
    model: str
    """Fingerprint of the bundle that made the vectors."""
    dense: Vector | None = None  # [d]
    sentences: tuple[str, ...] = ()
    """The abstract's sentences, or the title alone where there is no abstract: never empty."""
    roles: tuple[str, ...] = ()
    """One role a sentence: background, objective, method, result or other; empty without a role classifier."""
    sentence_vectors: Vector | None = None  # [S, d]
    tokens: Mapping[str, float] = field(default_factory=dict)
    keyphrases: Mapping[str, float] = field(default_factory=dict)
    truncated: bool = False
    """The text was longer than the model reads; sentences past the limit carry the vector of the last one read."""


@dataclass(frozen=True, slots=True, eq=False)
class EncodedQuery:
    """A text, or a paper used as the query, in the same parts as a paper."""

    text: str
    """What the lexical channels look for."""
    model: str
    dense: Vector | None = None  # [d]
    sentences: tuple[str, ...] = ()
    """The query's sentences, or the chosen ones of a paper."""
    sentence_vectors: Vector | None = None  # [S, d]
    tokens: Mapping[str, float] = field(default_factory=dict)
    keyphrases: Mapping[str, float] = field(default_factory=dict)
    beta: float = 0.25
    """What a keyphrase counts beside a token in the learned sparse score."""
    like: str | None = None
    """Id of the paper that is the query; it is never its own hit unless it is asked for as a candidate."""
    chosen: tuple[int, ...] = ()
    """1-based numbers of the paper's sentences that were chosen; none: the whole text or paper is the query."""

    @property
    def aspect(self) -> bool:
        """Some of a paper's sentences were chosen: the search is for that aspect, not for the whole paper."""
        return bool(self.chosen)
