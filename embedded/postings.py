"""The inverted index: for every feature the papers that have it, with a weight.

Each write adds a block of its own, in one place of the file, and blocks of like size are merged as they become many
(the way of a log-structured merge tree). So a paper's postings are rewritten a few times in all, where one list a
feature would rewrite a page of the file for each of the paper's hundred words. A search reads a row a feature and
block.

Why not FTS5, which SQLite brings along: over 100,000 papers its `bm25()` takes 25 to 40 times as long for a query of
ten words (250 ms against 6 and 267 against 10 in two runs of `benchmarks/store.py`, both on a busy machine). Its
constants, idf and tokenizer are not Lucene's either, so an OpenSearch index of the same papers would score otherwise,
and TF-IDF would need the counts a second time.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

POSTING = np.dtype([("num", "<u4"), ("weight", "<f4")])
Postings: TypeAlias = npt.NDArray[np.void]
"""Records of POSTING, ascending by num."""

WORDS = "words"
"""The channel of the papers' words; the weight is how often a paper has the word."""
TOKENS, KEYPHRASES = "tokens", "keyphrases"
"""The two halves of a learned sparse vector; the weights are the model's."""
FACET = "keyphrase"
"""The keyphrases that a paper can be filtered by, case-folded."""

FAN = 8
"""So many blocks of like size are merged into one."""
DEAD_SHARE = 0.25
"""Part of the indexed papers that may be dead before the whole index is rewritten without them."""


Features: TypeAlias = Sequence[Mapping[str, float]]
"""Of one paper after the other."""


def add(connection: sqlite3.Connection, first: int, channels: Mapping[str, Features]) -> None:
    """Index new papers, numbered from `first`, as a block of their own with the features of every channel."""
    connection.execute("INSERT INTO blocks VALUES (?, ?)", (first, max(map(len, channels.values()))))
    for channel in sorted(channels):
        _add(connection, first, channel, channels[channel])


def _add(connection: sqlite3.Connection, first: int, channel: str, features: Features) -> None:
    names = sorted({name for weights in features for name in weights})
    ranks = {name: rank for rank, name in enumerate(names)}
    rank = np.array([ranks[name] for weights in features for name in weights], np.int64)  # [postings]
    postings = np.empty(len(rank), POSTING)
    postings["num"] = np.repeat(np.arange(first, first + len(features)), [len(weights) for weights in features])
    postings["weight"] = [weight for weights in features for weight in weights.values()]
    counts = np.bincount(rank, minlength=len(names)).tolist()
    keys = [(channel, name) for name in names]
    _insert(connection, first, dict(zip(keys, counts, strict=True)), postings[np.argsort(rank, kind="stable")])


def counted(channel: str) -> str:
    """SQL for how many postings a channel has; those of papers that were removed count until they are merged away."""
    size = POSTING.itemsize
    return f"(SELECT coalesce(sum(length(data) / {size}), 0) FROM postings WHERE channel = '{channel}')"  # noqa: S608  # the names stand here


def settle(connection: sqlite3.Connection) -> None:
    """Merge what has become too many blocks, and rewrite the index when too much of it is dead."""
    blocks = connection.execute("SELECT block, papers FROM blocks ORDER BY block").fetchall()
    indexed = sum(papers for _, papers in blocks)
    live = connection.execute("SELECT count(*) FROM papers").fetchone()[0]
    if indexed - live > DEAD_SHARE * indexed:
        _merge_from(connection, blocks[0][0])
        return
    while run := _overdue([papers for _, papers in blocks]):
        first = blocks[-run][0]
        blocks[-run:] = [(first, _merge_from(connection, first))]


def read(connection: sqlite3.Connection, channel: str, feature: str) -> Postings:
    """All postings of one feature, also those of dead papers."""
    rows = connection.execute(
        "SELECT data FROM blocks CROSS JOIN postings USING (block) WHERE channel = ? AND feature = ? ORDER BY block",
        (channel, feature),
    )
    return np.frombuffer(b"".join(data for (data,) in rows), POSTING)


def read_all(connection: sqlite3.Connection, channel: str) -> Postings:
    """Those of every feature, in no particular order."""
    rows = connection.execute("SELECT data FROM blocks CROSS JOIN postings USING (block) WHERE channel = ?", (channel,))
    return np.frombuffer(b"".join(data for (data,) in rows), POSTING)


def has(connection: sqlite3.Connection, *channels: str) -> bool:
    """Whether any paper has a feature of one of these channels. A look into each block, however large."""
    found = "SELECT 1 FROM blocks CROSS JOIN postings USING (block) WHERE channel = ? LIMIT 1"
    return any(connection.execute(found, (channel,)).fetchone() for channel in channels)


def _overdue(sizes: Sequence[int]) -> int:
    """How many of the newest blocks to merge: all that are not of a higher magnitude than the last, if enough."""
    run = sum(1 for _ in takewhile(lambda size: _magnitude(size) <= _magnitude(sizes[-1]), reversed(sizes)))
    return run if run >= FAN else 0


def _magnitude(size: int) -> int:
    return int(math.log(max(size, 1), FAN))


def _merge_from(connection: sqlite3.Connection, first: int) -> int:
    """Make one block of this one and all newer ones, without their dead papers; how many live ones it has."""
    live = [num for (num,) in connection.execute("SELECT num FROM papers WHERE num >= ?", (first,))]
    rows = connection.execute(
        "SELECT channel, feature, data FROM postings WHERE block >= ? ORDER BY channel, feature, block", (first,)
    ).fetchall()
    postings = np.frombuffer(b"".join(data for *_, data in rows), POSTING)
    alive = np.isin(postings["num"], live)  # [postings]
    ends = np.cumsum([0, *(len(data) // POSTING.itemsize for *_, data in rows)])  # [rows + 1]
    counts: Counter[tuple[str, str]] = Counter()
    for row, count in zip(rows, np.diff(np.append(0, np.cumsum(alive))[ends]).tolist(), strict=True):
        counts[row[:2]] += count
    connection.execute("DELETE FROM postings WHERE block >= ?", (first,))
    connection.execute("DELETE FROM blocks WHERE block >= ?", (first,))
    connection.execute("INSERT INTO blocks VALUES (?, ?)", (first, len(live)))
    _insert(connection, first, counts, postings[alive])
    return len(live)


def _insert(
    connection: sqlite3.Connection, block: int, counts: Mapping[tuple[str, str], int], postings: Postings
) -> None:
    """Write the postings of each (channel, feature): `counts` of them, one list after the other.

    The keys come sorted, so that the tree in the file grows at its end.
    """
    data = postings.tobytes()
    ends = (np.cumsum(list(counts.values()), dtype=np.int64) * POSTING.itemsize).tolist()
    spans = zip(counts, [0, *ends], ends, strict=False)
    rows = ((block, *key, data[start:end]) for key, start, end in spans if end > start)
    connection.executemany("INSERT INTO postings VALUES (?, ?, ?, ?)", rows)
