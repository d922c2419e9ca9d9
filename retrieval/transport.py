"""How near a paper's sentences are to the query's: by the best pair, by attention, or by optimal transport.

All three are a weighted mean <D, W> of the L2 distances D between sentences (ASPIRE, sections 3.2 and 3.3); they
differ in the weights W. Transport is solved for all papers at once. POT's own batched solver does the same sweeps, but
stops for all when the last one is done or gives up on it, and importing POT takes longer than a thousand searches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from sciret.encoded import Vector
from sciret.errors import QueryError, SettingsError, StoreError

Measure = Literal["transport", "single", "attention"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
Array: TypeAlias = npt.NDArray[np.float64]
Floats: TypeAlias = npt.NDArray[Any]  # float32 or float64

ASPECT_TAU = 0.5
"""Temperature when some sentences were chosen: those that have a near counterpart weigh most."""
WHOLE_TAU = 5000.0
"""Temperature for whole abstracts: in effect, every sentence weighs the same."""

_REGULARISATION = 1 / 20
_TOLERANCE = 1e-7  # of a plan's marginals, summed; the distance is then off by less than that
_SWEEPS = 12  # real abstracts need about 4; papers that need many more are few, and Newton's method finishes them
_STEPS = 100  # Newton's method needs about 10, and 30 for the strangest papers that 10,000 trials made up
_RIDGE = 1e-14  # keeps the linear systems solvable when no path joins two groups of sentences in float64
_PRODUCT = 200_000  # multiplications in one matrix product: OpenBLAS uses threads from 2^18 on
_FAR = 1e30  # from a sentence that is not there: any kernel or softmax makes it 0
_NEAR = 0.05  # squared; above it, float32 is right to 1e-6
_CELLS = 4_000_000  # sentence pairs solved at once: bounds memory when abstracts are absurdly long


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How one paper's sentences meet the query's."""

    mass: Array  # [q, S] weights, they sum to 1
    distance: Vector  # [q, S]


@dataclass(frozen=True, slots=True, eq=False)
class SentenceMatches:
    """The distances of all candidates, and on demand the reasons for one."""

    query: Vector  # [q, d]
    papers: Sequence[Vector]  # n matrices [S_i, d]
    measure: Measure
    tau: float
    distances: Array  # [n]

    @property
    def similarity(self) -> Array:
        """The cosine that belongs to each distance between normalised vectors. [n]"""
        return 1 - self.distances**2 / 2

    def plan(self, i: int) -> Plan:
        """The i-th paper's weights, computed again: few papers are shown, and the plans of all would fill memory."""
        cost = _distances(self.query, [self.papers[i]])
        return Plan(_weights(cost, self.measure, self.tau)[0], cost[0])


def match(query: Vector, papers: Sequence[Vector], measure: Measure, *, tau: float) -> SentenceMatches:
    """Sentence matrices [q, d] and n times [S_i, d]; the order of `papers` is kept."""
    _check(query, papers, measure, tau)
    distances = np.zeros(len(papers))
    for group in _groups(len(query), [len(paper) for paper in papers]):
        padded = _distances(query, [papers[i] for i in group])
        distances[group] = np.einsum("nqs,nqs->n", _weights(padded, measure, tau), padded)
    return SentenceMatches(query, papers, measure, tau, distances)


def _check(query: Vector, papers: Sequence[Vector], measure: str, tau: float) -> None:
    if measure not in MEASURES:
        raise SettingsError(f"no sentence match {measure!r}; there are {', '.join(MEASURES)}")
    if not tau > 0:
        raise SettingsError(f"the temperature of a sentence match must be above 0, not {tau}")
    if not len(query):
        raise QueryError("the query has no sentence vectors: use a model that gives them, or --rerank none")
    if not all(len(paper) for paper in papers):
        raise StoreError("a candidate has no sentence vectors: ingest again with a model that gives them")


def _groups(rows: int, sizes: Sequence[int]) -> Iterator[list[int]]:
    """Papers of similar length together, so that padding wastes little and no group is too large for memory."""
    group: list[int] = []
    for i in sorted(range(len(sizes)), key=sizes.__getitem__):
        if group and (len(group) + 1) * rows * sizes[i] > _CELLS:
            yield group
            group = []
        group.append(i)
    if group:
        yield group


def _distances(query: Vector, papers: Sequence[Vector]) -> Vector:
    """L2 distances [n, q, S]; to sentences that a paper does not have, farther than any weight reaches."""
    flat = np.concatenate(papers)  # [T, d], the sentences of all papers
    rows = np.full((len(flat) + 1, len(query)), _FAR, np.float32)  # the last row is the sentence that is not there
    rows[:-1] = np.sqrt(_squared(query, flat))
    sizes = np.array([len(paper) for paper in papers])  # [n]
    sentence = np.arange(sizes.max())  # [S]
    index = np.where(sentence < sizes[:, None], (np.cumsum(sizes) - sizes)[:, None] + sentence, len(flat))  # [n, S]
    return np.ascontiguousarray(np.swapaxes(rows[index], 1, 2))


def _squared(query: Vector, flat: Vector) -> Vector:
    """Squared distances [T, q]. Those of near sentences again in float64: rounding would put equal ones 3e-4 apart."""
    squared: Vector = _expanded(query, flat)
    if not np.isfinite(squared).all():
        raise StoreError("sentence vectors hold values that are not numbers: ingest these papers again")
    if squared.min() < _NEAR:
        near = np.flatnonzero((squared < _NEAR).any(axis=1))
        squared[near] = _expanded(query.astype(np.float64), flat[near].astype(np.float64))
    return np.maximum(squared, 0)


def _expanded(query: Floats, flat: Floats) -> Floats:
    """|x|² + |y|² − 2xy [T, q]. What a store keeps in half precision is not exactly of length 1.

    The product is taken in blocks: OpenBLAS gives a large one to threads, which spin when the machine is busy.
    """
    block = max(1, _PRODUCT // query.size)
    whole = len(flat) - len(flat) % block
    blocks = flat[:whole].reshape(-1, block, flat.shape[1]) @ query.T  # [blocks, block, q]
    product = np.concatenate([blocks.reshape(-1, len(query)), flat[whole:] @ query.T])  # [T, q]
    lengths = np.einsum("td,td->t", flat, flat)[:, None] + np.einsum("qd,qd->q", query, query)
    return np.asarray(lengths - 2 * product)


def _weights(distances: Vector, measure: Measure, tau: float) -> Array:
    """Weights [n, q, S] of distances [n, q, S]: each paper's sum to 1, and sentences that are not there have none."""
    if measure == "transport":
        # Numpy is slow at minima over a short last axis: a copy that turns it into the middle one costs less.
        turned = np.ascontiguousarray(np.swapaxes(distances, 1, 2))  # [n, S, q]
        rows, columns = _softmax(-turned.min(axis=1) / tau), _softmax(-distances.min(axis=1) / tau)
        return _transport(distances, rows, columns)
    cells = distances.reshape(len(distances), -1)  # [n, q * S]
    if measure == "attention":
        return _softmax(-cells / tau).reshape(distances.shape)
    best = np.zeros(cells.shape)
    best[np.arange(len(cells)), cells.argmin(axis=1)] = 1
    return best.reshape(distances.shape)


def _softmax(x: Vector) -> Array:
    powers = np.exp(x - x.max(axis=-1, keepdims=True), dtype=np.float64)
    return powers / powers.sum(axis=-1, keepdims=True)  # type: ignore[no-any-return]


def _transport(cost: Vector, rows: Array, columns: Array) -> Array:
    """Entropic plans [n, q, S] for costs [n, q, S] with marginals [n, q] and [n, S], each within the tolerance.

    Costs of unit vectors are at most 2, so the kernel is at least e^-40: float64 needs no logarithms here.
    """
    if cost.shape[1] > cost.shape[2]:  # Newton's method costs the cube of the number of rows
        return np.swapaxes(_transport(np.swapaxes(cost, 1, 2), columns, rows), 1, 2)
    kernel = np.exp(cost / np.float32(-_REGULARISATION)).astype(np.float64)  # float32 is four times as fast here
    left, right, error = _sweep(kernel, rows, columns)
    plan: Array = left[:, :, None] * kernel * right[:, None, :]
    late = np.flatnonzero(error > _TOLERANCE)
    if late.size:
        plan[late] = _newton(kernel[late], rows[late], columns[late], left[late])
    return plan


def _sweep(kernel: Array, rows: Array, columns: Array) -> tuple[Array, Array, Array]:
    """Sinkhorn's scalings [n, q] and [n, S], and how far [n] the columns of the plan are from their marginals."""
    right = columns
    for _ in range(_SWEEPS):
        left = rows / _above_zero((kernel @ right[:, :, None])[:, :, 0])
        reached = _above_zero((left[:, None, :] @ kernel)[:, 0, :])  # [n, S]
        error = np.abs(right * reached - columns).sum(axis=1)
        if error.max() <= _TOLERANCE:
            break
        previous, right = right, columns / reached
    else:
        right = previous  # the scaling that `error` was measured with
    return left, right, error


def _newton(kernel: Array, rows: Array, columns: Array, left: Array) -> Array:
    """Plans by Newton's method on the concave dual, whose variables are the logarithms of the rows' scalings [m, q].

    Sweeps creep when a little mass has to cross between far groups of sentences; this does not. The dual is
    generalised self-concordant, so steps shortened to ln(1 + r) / r, with r their range, converge from anywhere.
    """
    identity = np.eye(kernel.shape[1])
    for _ in range(_STEPS):
        share = left[:, :, None] * kernel  # [m, q, S], then each column sums to 1: where its mass comes from
        share /= _above_zero(share.sum(axis=1, keepdims=True))
        plan: Array = share * columns[:, None, :]
        sums = plan.sum(axis=2)  # [m, q]
        if np.abs(rows - sums).sum(axis=1).max() <= _TOLERANCE:
            return plan
        hessian = sums[:, :, None] * identity - plan @ np.swapaxes(share, 1, 2)
        # Constant shifts change nothing, so the matrix is singular along them; 1/q removes just that.
        system = hessian + (_RIDGE * identity + 1 / len(identity))
        step = np.linalg.solve(system, (rows - sums)[:, :, None])[:, :, 0]
        reach = _above_zero(np.ptp(step, axis=1, keepdims=True))
        left = left * np.exp(step * np.log1p(reach) / reach)
    raise ArithmeticError(f"optimal transport did not converge in {_STEPS} steps: please report these sentence vectors")


def _above_zero(x: Array) -> Array:
    """For divisions in which nothing is divided by nothing: of sentences that are not there."""
    return np.maximum(x, np.finfo(np.float64).tiny)
