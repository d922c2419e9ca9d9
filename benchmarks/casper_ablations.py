"""The first experiments of the CASPER paper on the development sets, as tables with paired significance.

    python benchmarks/casper_ablations.py --data ../shared/data --model FOLDER --keyphrases keyphrases.txt \\
        --triplets triplets.jsonl.gz --papers papers.jsonl --out build/ablations --steps 2000 --batch 16

Trained variants, each compared with the base (sum pooling for keyphrases, decoupled loss, all sources): max pooling for
keyphrases, the unified loss, and the base without each source. Then, on the base without training it again: β, and
pruning by mass (quality, postings, time to score). Every variant is a run folder of its own; the same command goes on
where it stopped, and a variant that is finished is not trained again. --steps, --batch, --limit and --set (lengths)
make it as short as wanted.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from ablation_evaluation import RECALL, Collection, Result, Vectors, compared, encode, evaluate, load_collection
from quality import SETS

from sciret.training.configuration import CasperTraining
from sciret.training.run_folder import RunFolder
from sciret.training.train_casper import KIND, train_casper
from sciret.training.triplets import read_triplets

BETAS = (0.0, 0.1, 0.25, 0.5, 1.0)
MASSES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)


def main() -> None:
    arguments = parsed()
    base = CasperTraining.load(
        None,
        {
            "model": arguments.model,
            "keyphrases": arguments.keyphrases,
            "triplets": str(arguments.triplets),
            "papers": tuple(arguments.papers),
            "steps": arguments.steps,
            "batch": arguments.batch,
            "evaluate_every": max(1, arguments.steps // 10),
            "checkpoint_every": max(1, arguments.steps // 10),
            "warmup": arguments.steps // 10,
            "flops_steps": arguments.steps // 2,
            "patience": 0,
        },
        arguments.set,
    )
    collections = [load_collection(arguments.data, name, arguments.limit) for name in arguments.sets]
    variants = variants_of(base)
    for name, configuration in variants.items():
        train(name, configuration, arguments.out / folder_of(name))
    vectors = {
        name: [encode(arguments.out / folder_of(name), c, arguments.batch) for c in collections] for name in variants
    }
    print_variants(vectors, collections, base)
    print_betas(vectors["base"], collections, base)
    print_masses(vectors["base"], collections, base)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the development sets")
    parser.add_argument("--model", required=True)
    parser.add_argument("--keyphrases", default="")
    parser.add_argument("--triplets", type=Path, required=True)
    parser.add_argument("--papers", nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--limit", type=int, default=0, help="papers of a collection, at most; 0: all")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as of sciret train casper")
    return parser.parse_args()


def variants_of(base: CasperTraining) -> dict[str, CasperTraining]:
    sources = sorted({row.source for row in read_triplets(Path(base.triplets))})
    variants = {
        "base": base,
        "max pooling for keyphrases": replace(base, keyphrase_pooling="max"),
        "unified loss": replace(base, contrast="unified"),
    }
    if len(sources) > 1:
        variants |= {f"without {s}": replace(base, weights={**base.weights, s: 0.0}) for s in sources}
    return variants


def folder_of(name: str) -> str:
    return name.replace(" ", "-")


def train(name: str, configuration: CasperTraining, out: Path) -> None:
    """A variant that was begun with another configuration is an error, not a result."""
    run = RunFolder(out)
    if out.exists() and run.configuration(KIND, CasperTraining) != configuration:
        raise SystemExit(f"{out} was trained with other options; give another --out, or delete it")
    if run.model.exists():
        return
    print(f"training {name}", flush=True)
    train_casper(configuration, out, out.exists(), lambda line: print("  ", line, flush=True))


def print_variants(vectors: dict[str, list[Vectors]], collections: list[Collection], base: CasperTraining) -> None:
    results = {
        name: [evaluate(v, c, base.beta, base.mass) for v, c in zip(each, collections, strict=True)]
        for name, each in vectors.items()
    }
    header("nDCG@10 (difference from the base, p of a paired randomisation test)", collections)
    for name, each in results.items():
        cells = [compared(r.values, b.values) for r, b in zip(each, results["base"], strict=True)]
        print(f"| {name} | {' | '.join([*cells, compared(together(each), together(results['base']))])} |")


def print_betas(vectors: list[Vectors], collections: list[Collection], base: CasperTraining) -> None:
    pairs = list(zip(vectors, collections, strict=True))
    results = {beta: [evaluate(v, c, beta, base.mass) for v, c in pairs] for beta in (base.beta, *BETAS)}
    header(f"β, compared with {base.beta}", collections)
    for beta in BETAS:
        cells = [compared(r.values, b.values) for r, b in zip(results[beta], results[base.beta], strict=True)]
        print(f"| {beta} | {' | '.join([*cells, compared(together(results[beta]), together(results[base.beta]))])} |")


def print_masses(vectors: list[Vectors], collections: list[Collection], base: CasperTraining) -> None:
    pairs = list(zip(vectors, collections, strict=True))
    results = {mass: [evaluate(v, c, base.beta, mass) for v, c in pairs] for mass in MASSES}
    whole = results[1.0]
    print("\n| mass kept | nDCG@10 (difference from all, p) | R@100 | features a paper | time of all |")
    print("|---|---|---|---|---|")
    for mass, each in results.items():
        features = np.mean([r.features for r in each])
        seconds = sum(r.seconds for r in each) / sum(r.seconds for r in whole)
        recall = together(each)[:, RECALL].mean()
        print(
            f"| {mass} | {compared(together(each), together(whole))} | {recall:.4f} | {features:.0f} | {seconds:.2f} |"
        )


def header(title: str, collections: list[Collection]) -> None:
    columns = [title, *(c.name for c in collections), "all queries"]
    print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")


def together(results: list[Result]) -> np.ndarray:
    return np.concatenate([result.values for result in results])


if __name__ == "__main__":
    main()
