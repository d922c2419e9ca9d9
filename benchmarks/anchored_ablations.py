"""The first experiments of the CASPER paper with the anchored head, as tables with paired significance.

    python benchmarks/anchored_ablations.py --data ../shared/data --model build/model/dense \\
        --keyphrases build/model/keyphrases.txt --triplets build/model/triplets.jsonl.gz \\
        --papers PAPERS.jsonl.gz ... --states build/model/head/data/states --out build/ablations

Each variant is compared with the base: sum pooling for keyphrases, the unified loss, no distillation, no contrast of
the fused score, and the base without each mined source. `untrained` is the closed form that all of them start from.
Quality is nDCG@10 of the sparse score alone, and fused with the encoder's own vectors by λ. Papers are not pruned,
and heads are not averaged with the closed form.
Every variant is a run folder of its own; the same command goes on where it stopped. What the encoder makes of the
collections is computed once, beside the runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from ablation_evaluation import DEPTH, Collection, compared, load_collection
from quality import SETS
from tokenizers import Tokenizer

from sciret.encoders.bundle import TOKENIZER, load_bundle
from sciret.encoders.learned import MASS
from sciret.encoders.phrases import PhraseMatcher, load_phrases
from sciret.evaluation.measures import Values, measure
from sciret.training.anchored import AnchoredHead, Positions, Sparse, saturated
from sciret.training.anchored_step import OWN_WORDS
from sciret.training.anchored_task import count_features, positions_of
from sciret.training.configuration import AnchoredTraining
from sciret.training.run_folder import RunFolder
from sciret.training.sparsity import prune
from sciret.training.states import StateReader, Texts, compute_texts, content_pieces
from sciret.training.train_anchored import KIND, begin_head, make_head, open_head, train_anchored
from sciret.training.triplets import read_triplets

LAMBDA = 0.65
BETAS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
PART = 100


@dataclass(frozen=True)
class Encoded:
    collection: Collection
    queries: Texts
    papers: Texts


def main() -> None:
    arguments = parsed()
    options = {name: getattr(arguments, name) for name in ("model", "keyphrases", "steps", "states")}
    options |= {"triplets": str(arguments.triplets), "papers": tuple(arguments.papers)}
    every = max(1, arguments.steps // 3)
    options |= {"evaluate_every": every, "checkpoint_every": every, "flops_steps": every, "patience": 0, "average": 1.0}
    base = AnchoredTraining.load(None, options, arguments.set)
    collections = [encoded(arguments, base, name) for name in arguments.sets]
    variants = variants_of(base)
    heads = {"untrained": untrained(base, Texts(Path(base.states), "papers"))}
    for name, configuration in variants.items():
        train(name, configuration, arguments.out / name.replace(" ", "-"))
        heads[name] = open_head(arguments.out / name.replace(" ", "-") / "model")[0]
    results = {name: [scored(head, each) for each in collections] for name, head in heads.items()}
    for title, lambda_ in (("the sparse score alone", 0.0), (f"fused with the dense one, λ = {LAMBDA}", LAMBDA)):
        print_table(title, results, collections, lambda_, base.beta)
    print_betas(results["base"], collections, base.beta)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the development sets")
    parser.add_argument("--model", required=True, help="the dense bundle")
    parser.add_argument("--keyphrases", required=True)
    parser.add_argument("--triplets", type=Path, required=True)
    parser.add_argument("--papers", nargs="+", required=True)
    parser.add_argument("--states", required=True, help="what the encoder made of the triplets, of an earlier run")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--limit", type=int, default=4_000, help="papers of a collection, and all judged ones")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as of sciret train anchored")
    return parser.parse_args()


def variants_of(base: AnchoredTraining) -> dict[str, AnchoredTraining]:
    sources = sorted({row.source for row in read_triplets(Path(base.triplets))})
    return {
        "base": base,
        "sum pooling for keyphrases": replace(base, keyphrase_pooling="sum"),
        "unified loss": replace(base, contrast="unified"),
        "no distillation": replace(base, distillation_weight=0.0),
        "no fused contrast": replace(base, fused_weight=0.0),
        **{f"without {source}": replace(base, weights={**base.weights, source: 0.0}) for source in sources},
    }


def train(name: str, configuration: AnchoredTraining, out: Path) -> None:
    """A variant that was begun with another configuration is an error, not a result."""
    run = RunFolder(out)
    if out.exists() and run.configuration(KIND, AnchoredTraining) != configuration:
        raise SystemExit(f"{out} was trained with other options; give another --out, or delete it")
    if not run.model.exists():
        print(f"training {name}", flush=True)
        train_anchored(configuration, out, out.exists(), lambda line: print("  ", line, flush=True), print)


def untrained(base: AnchoredTraining, papers: Texts) -> AnchoredHead:
    bundle, keyphrases = load_bundle(base.model), load_phrases(Path(base.keyphrases))
    tokenizer = Tokenizer.from_file(str(bundle.path(TOKENIZER)))
    head = make_head(bundle, content_pieces(tokenizer.get_vocab()), len(keyphrases), base)
    begin_head(head, papers, keyphrases, tokenizer, base)
    return head


def encoded(arguments: argparse.Namespace, base: AnchoredTraining, name: str) -> Encoded:
    """Once for a collection, however many variants."""
    collection = load_collection(arguments.data, name, arguments.limit)
    bundle, matcher = load_bundle(base.model), PhraseMatcher(load_phrases(Path(base.keyphrases)))
    content = content_pieces(Tokenizer.from_file(str(bundle.path(TOKENIZER))).get_vocab())
    reader = StateReader(bundle, content, matcher)
    folder = arguments.out / "collections" / f"{name}-{len(collection.ids)}"
    queries = [(text, "") for text in collection.queries.values()]
    return Encoded(
        collection,
        compute_texts(queries, reader.query, folder, "queries", print),
        compute_texts(collection.papers, reader.paper, folder, "papers", print),
    )


@dataclass(frozen=True)
class Scores:
    """Of all papers for all queries [Q, P], as a search computes them, but for the pruning of papers."""

    dense: np.ndarray
    tokens: np.ndarray
    keyphrases: np.ndarray
    lengths: tuple[np.ndarray, np.ndarray]
    """Σ q_t² and Σ q_k² of each query [Q, 1]."""

    def fused(self, lambda_: float, beta: float) -> np.ndarray:
        length = self.lengths[0] + beta * self.lengths[1]
        projection = (self.tokens + beta * self.keyphrases) / np.maximum(length, 1e-6)
        return lambda_ * self.dense + (1 - lambda_) * projection


@torch.no_grad()
def scored(head: AnchoredHead, encoded: Encoded) -> Scores:
    queries = sparse_queries(head, encoded.queries)
    tokens, phrases = (torch.nonzero(part.any(dim=0))[:, 0] for part in queries)
    root, phrase_root = head.token_root()[tokens], head.phrase_root()[phrases]
    asked, concepts = queries.tokens[:, tokens], queries.keyphrases[:, phrases]
    by_tokens, by_phrases = [], []
    for positions, counts in read(encoded.papers, len(head.words)):
        found = head.columns(positions, tokens, phrases)
        anchor = saturated(counts, counts.sum(dim=1, keepdim=True))[:, tokens]
        by_tokens.append(asked @ ((anchor + found.tokens.clamp(min=0)) * root).T)
        by_phrases.append(concepts @ (found.keyphrases * phrase_root).T)
    return Scores(
        encoded.queries.dense.astype(np.float32) @ encoded.papers.dense.astype(np.float32).T,
        torch.cat(by_tokens, dim=1).numpy(),
        torch.cat(by_phrases, dim=1).numpy(),
        (asked.square().sum(dim=1, keepdim=True).numpy(), concepts.square().sum(dim=1, keepdim=True).numpy()),
    )


def sparse_queries(head: AnchoredHead, texts: Texts) -> Sparse:
    """Queries as a search prunes them, by mass, and their own words once more."""
    parts = []
    for positions, counts in read(texts, len(head.words)):
        tokens, keyphrases = (prune(part, MASS) for part in head.whole(positions, counts))
        parts.append(Sparse(tokens + OWN_WORDS * counts * head.token_root(), keyphrases))
    return Sparse(torch.cat([part.tokens for part in parts]), torch.cat([part.keyphrases for part in parts]))


def read(texts: Texts, words: int) -> Iterator[tuple[Positions, torch.Tensor]]:
    """States and counts [n, V] of all texts, some at a time."""
    for first in range(0, len(texts), PART):
        numbers = range(first, min(first + PART, len(texts)))
        counts = count_features([texts.pieces(number) for number in numbers], words)
        yield positions_of([texts.states(number) for number in numbers]), torch.from_numpy(counts)


def measured(collection: Collection, scores: np.ndarray) -> Values:
    run = {}
    for row, query in enumerate(collection.queries):
        best = np.argsort(-scores[row], kind="stable")[:DEPTH]
        run[query] = {collection.ids[i]: float(scores[row, i]) for i in best}
    return measure(collection.qrels, run)


def print_table(
    title: str, results: Mapping[str, list[Scores]], collections: list[Encoded], lambda_: float, beta: float
) -> None:
    values = {
        name: [measured(e.collection, s.fused(lambda_, beta)) for e, s in zip(collections, scores, strict=True)]
        for name, scores in results.items()
    }
    print_rows(f"nDCG@10 of {title} (difference from the base, p of a paired randomisation test)", collections, values)


def print_betas(base: list[Scores], collections: list[Encoded], beta: float) -> None:
    for lambda_ in (0.0, LAMBDA):
        values = {
            "base" if b == beta else str(b): [
                measured(e.collection, s.fused(lambda_, b)) for e, s in zip(collections, base, strict=True)
            ]
            for b in (beta, *BETAS)
        }
        print_rows(f"β, compared with {beta}, λ = {lambda_}", collections, values)


def print_rows(title: str, collections: list[Encoded], results: Mapping[str, list[Values]]) -> None:
    columns = [title, *(each.collection.name for each in collections), "all queries"]
    print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    base = results["base"]
    for name, values in results.items():
        cells = [compared(mine, theirs) for mine, theirs in zip(values, base, strict=True)]
        print(f"| {name} | {' | '.join([*cells, compared(np.concatenate(values), np.concatenate(base))])} |")


if __name__ == "__main__":
    main()
