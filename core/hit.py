"""Hit: one answer, with every part of its score and the reasons for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sciret.paper import Paper


@dataclass(frozen=True, slots=True)
class SentenceMatch:
    """One cell of the transport plan: how much of the query's sentence is moved to the paper's, and how far."""

    query_sentence: int
    """1-based, in the text or in the paper that is the query."""
    paper_sentence: int
    """1-based position in the abstract."""
    query_text: str
    paper_text: str
    mass: float
    distance: float


@dataclass(frozen=True, slots=True)
class Why:
    """Why a paper was found."""

    terms: Mapping[str, float] = field(default_factory=dict)
    """Matched words with their share of the sparse score, largest first."""
    keyphrases: Mapping[str, float] = field(default_factory=dict)
    """Matched concepts likewise; both together sum to 1."""
    sentences: tuple[SentenceMatch, ...] = ()
    """The heaviest cells of the transport plan (or the single best match), largest mass first."""


@dataclass(frozen=True, slots=True)
class Hit:
    rank: int
    score: float
    """What the ranking is by."""
    paper: Paper
    parts: Mapping[str, float] = field(default_factory=dict)
    """Every part of the score by name: `dense` and `sparse` (cosines or their equals), `fused`, `rerank`; `bm25` and
    `casper` where the sparse side is made of both."""
    why: Why = field(default_factory=Why)
    keyphrases: tuple[str, ...] = ()
    """Of the paper, those of most weight: what `--where keyphrase=` compares."""
