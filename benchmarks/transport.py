"""One query against 100 papers by optimal transport: ours against POT's solvers, as ratios of one run.

All start from sentence vectors and give distances. `ot.sinkhorn` runs once with its own stopping rule, which is about
as precise as ours, and once with just enough precision that it agrees to 1e-4, as does `ot.batch` (`ot.emd2` solves the
problem without entropy, so its distances differ).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence

import numpy as np

from sciret.encoded import Vector
from sciret.retrieval.transport import WHOLE_TAU, Array, match

REGULARISATION = 1 / 20
PRECISION = 1e-5
CALLS = 5
SETS = {"abstracts": (0.2, 0.0), "near duplicates": (0.6, 0.5)}
"""How far sentences lie from their paper's subject (0.2 as encoders put them), and the share that are the query's own,
nearly word for word: such problems need ten times as many iterations."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=int, default=100)
    parser.add_argument("--sentences", type=int, default=10, help="of the query, and of a paper on average")
    parser.add_argument("--rounds", type=int, default=7, help="each solver has so many turns; its best call counts")
    options = parser.parse_args()
    begun = time.perf_counter()
    import_pot()
    print(f"importing POT takes {time.perf_counter() - begun:.1f} s")
    for name, (spread, shared) in SETS.items():
        query, *papers = abstracts(options.papers, options.sentences, spread, shared)
        report(name, race(solvers(query, papers), options.rounds))


def import_pot() -> None:
    """Without the deep learning frameworks that it would otherwise load where they are installed."""
    for backend in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW"):
        os.environ[f"POT_BACKEND_DISABLE_{backend}"] = "1"
    import ot.batch  # noqa: F401


def abstracts(papers: int, sentences: int, spread: float, shared: float, dims: int = 384) -> list[Vector]:
    """Normalised sentence vectors [S, dims] of a query and of papers, each around what the paper is about."""
    rng = np.random.default_rng(7)
    field = rng.normal(size=dims)
    made: list[Vector] = []
    for size in [sentences, *rng.integers(sentences // 2, sentences * 3 // 2 + 1, papers)]:
        vectors = field + rng.normal(size=dims) + spread * rng.normal(size=(size, dims))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        if made:
            taken = rng.integers(0, sentences, int(shared * size))
            vectors[: len(taken)] = made[0][taken] + 0.01 * rng.normal(size=(len(taken), dims))
        made.append((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32))
    return made


def solvers(query: Vector, papers: Sequence[Vector]) -> dict[str, Callable[[], Array]]:
    """Each gives the distances [n]."""
    import ot

    def sinkhorn(a: Array, b: Array, cost: Array, **settings: float) -> float:
        return float((ot.sinkhorn(a, b, cost, REGULARISATION, numItermax=100_000, **settings) * cost).sum())

    return {
        "sciret": lambda: match(query, papers, "transport", tau=WHOLE_TAU).distances,
        "ot.sinkhorn loop": lambda: np.array([sinkhorn(*problem(query, paper)) for paper in papers]),
        "  the same, rough": lambda: np.array(
            [sinkhorn(*problem(query, paper), stopThr=PRECISION) for paper in papers]
        ),
        "ot.batch": lambda: pot_batch([problem(query, paper) for paper in papers]),
        "ot.emd2 loop": lambda: np.array([ot.emd2(*problem(query, paper)) for paper in papers]),
    }


def problem(query: Vector, paper: Vector) -> tuple[Array, Array, Array]:
    """Marginals [q] and [S], and costs [q, S]."""
    import ot

    cost = ot.dist(query.astype(np.float64), paper.astype(np.float64), "euclidean")
    return marginal(cost.min(axis=1)), marginal(cost.min(axis=0)), cost


def marginal(nearest: Array) -> Array:
    powers = np.exp((nearest.min() - nearest) / WHOLE_TAU)
    return np.asarray(powers / powers.sum())


def pot_batch(problems: Sequence[tuple[Array, Array, Array]]) -> Array:
    """POT's batched solver knows no masks, but sentences without mass do no harm to its plain Sinkhorn."""
    import ot

    width = max(len(b) for _, b, _ in problems)
    left = np.stack([a for a, _, _ in problems])
    right = np.stack([np.pad(b, (0, width - len(b))) for _, b, _ in problems])
    costs = np.stack([np.pad(cost, ((0, 0), (0, width - cost.shape[1]))) for _, _, cost in problems])  # [n, q, S]
    settings = {"max_iter": 100_000, "tol": PRECISION, "method": "sinkhorn"}
    return np.asarray(ot.batch.solve_batch(costs, REGULARISATION, left, right, **settings).value_linear)


def race(solvers: dict[str, Callable[[], Array]], rounds: int) -> dict[str, tuple[float, Array]]:
    """Best CPU seconds, and distances. Not wall-clock: where other programs run, waiting would drown a millisecond.

    A turn is a few calls in a row, for the caches: after another solver's turn they are full of its data.
    """
    results = {name: (float("inf"), solve()) for name, solve in solvers.items()}
    for _ in range(rounds):
        for name, solve in solvers.items():
            for _ in range(CALLS):
                begun = time.process_time()
                distances = solve()
                results[name] = (min(results[name][0], time.process_time() - begun), distances)
    return results


def report(name: str, results: dict[str, tuple[float, Array]]) -> None:
    ours, distances = results["sciret"]
    print(f"\n{len(distances)} papers, {name}: distances {distances.min():.2f} to {distances.max():.2f}")
    for solver, (seconds, found) in results.items():
        difference = np.abs(found - distances).max()
        print(f"  {solver:<17}{1000 * seconds:8.2f} cpu-ms {seconds / ours:6.1f} x   differs by up to {difference:.0e}")


if __name__ == "__main__":
    main()
