"""A hit as JSON values. The keys are the same for every hit, so that programs need no special cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sciret.hit import Hit, SentenceMatch, Why

PARTS = ("dense", "sparse", "bm25", "casper", "fused", "rerank")


def hit_record(hit: Hit, *, explain: bool) -> Mapping[str, Any]:
    """All fields of the paper, the model's keyphrases for it, the parts of the score (null where it has no such part),
    and why."""
    return {
        "rank": hit.rank,
        "score": hit.score,
        **asdict(hit.paper),
        "keyphrases": list(hit.keyphrases),
        "parts": {**dict.fromkeys(PARTS), **hit.parts},
        "why": _why_record(hit.why, explain=explain),
    }


def _why_record(why: Why, *, explain: bool) -> Mapping[str, Any]:
    best = best_sentence(why)
    return {
        "terms": dict(why.terms),
        "keyphrases": dict(why.keyphrases),
        "best_sentence": None if best is None else asdict(best),
        "plan": [asdict(match) for match in why.sentences] if explain else None,
    }


def best_sentence(why: Why) -> SentenceMatch | None:
    """The cell of the plan that carries most."""
    return why.sentences[0] if why.sentences else None
