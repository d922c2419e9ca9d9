"""What `sciret vocab add` costs or gains: keyphrases left out of a bundle's vocabulary and added back without training.

    python benchmarks/added_keyphrases.py BUNDLE [--data ../shared/data] [--phrases 300]

Some keyphrases that authors of elife papers name are taken out of the bundle, and added back by the command's own
function. Three bundles are compared, on the same papers: with trained rows, without them, and with added ones. There
are two sets of queries: the phrases themselves, where papers whose authors name the phrase are relevant, and citing
sentences of the development set that contain a left-out phrase, where cited papers are. Papers are ranked by their
keyphrases alone and by the whole sparse score; p is that of a paired randomisation test against the bundle without.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from development import Collection, compared, load_collection, ndcg, pruned_and_whole

from sciret.encoded import EncodedPaper, EncodedQuery
from sciret.encoders.bundle import GRAPHS, KEYPHRASES, Bundle, Precision, load_bundle
from sciret.encoders.encoder import Encoder
from sciret.encoders.learned import Projection, prune
from sciret.encoders.phrases import PhraseMatcher, load_phrases
from sciret.evaluation.runs import Run
from sciret.onnx_export.added_keyphrases import add_keyphrases
from sciret.onnx_export.changed_bundle import NewKeyphrases, write_changed
from sciret.onnx_export.keyphrase_columns import Columns, find_decoder, read_columns
from sciret.onnx_export.phrase_rows import Phrase
from sciret.paper import Paper
from sciret.sources.reader import open_source

DEPTH = 100
FEWEST, MOST = 3, 40
"""Papers whose authors name a phrase, for it to be asked for."""
SEED = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--phrases", type=int, default=300)
    parser.add_argument("--papers", type=int, default=3_000, help="that are searched")
    parser.add_argument("--sentences", type=int, default=300, help="citing sentences, at most")
    options = parser.parse_args()
    bundle = load_bundle(options.bundle)
    assert bundle.sparse is not None, f"{options.bundle} gives no sparse vectors"
    matcher = PhraseMatcher.load(bundle.path(KEYPHRASES))
    corpus = [p for p in open_source(str(options.data / "elife.jsonl.gz")) if isinstance(p, Paper)]
    named = authors_keyphrases(corpus, matcher)
    chance = np.random.default_rng(SEED)
    asked = sorted(number for number, papers in named.items() if FEWEST <= len(papers) <= MOST)
    left_out = sorted(chance.choice(asked, min(options.phrases, len(asked)), replace=False).tolist())
    sentences = citing_sentences(options.data, matcher, set(left_out), options.sentences)
    phrases = about_phrases(matcher, named, left_out)
    papers = chosen(corpus, (phrases, sentences), options.papers, chance)
    phrases, sentences = (replace(each, papers=papers) for each in (phrases, sentences))
    phrases = within(phrases)
    print(f"{len(left_out)} of {len(matcher.phrases)} keyphrases left out, {len(papers)} papers")
    with tempfile.TemporaryDirectory() as folder:
        encoders, cosine = bundles(bundle, matcher, left_out, Path(folder))
        print(f"guessed rows have a cosine of {cosine:.3f} to trained ones, on phrases held out of the fit")
        encoded = {name: vectorless(encoders[name][1], papers) for name in ("trained", "added")}
        encoded["without"] = [without(p, {matcher.phrases[n] for n in left_out}) for p in encoded["trained"]]
        activity(encoded, [matcher.phrases[number] for number in left_out])
        for collection in (phrases, sentences):
            report(collection, {name: own for name, (own, _) in encoders.items()}, encoded, bundle.sparse.mass)


def authors_keyphrases(corpus: Sequence[Paper], matcher: PhraseMatcher) -> dict[int, list[str]]:
    named: dict[int, list[str]] = {}
    for paper in corpus:
        for number in {matcher.number(keyword) for keyword in paper.keywords} - {None}:
            assert number is not None
            named.setdefault(number, []).append(paper.id)
    return named


def citing_sentences(data: Path, matcher: PhraseMatcher, left_out: set[int], most: int) -> Collection:
    dev = load_collection(data, "elife")
    with_phrase = {qid: text for qid, text in dev.queries.items() if left_out & set(matcher.count(text))}
    kept = dict(list(with_phrase.items())[:most])
    return Collection("citing sentences", [], kept, {qid: dev.qrels[qid] for qid in kept})


def about_phrases(matcher: PhraseMatcher, named: dict[int, list[str]], left_out: Sequence[int]) -> Collection:
    queries = {f"phrase-{number}": matcher.phrases[number] for number in left_out}
    qrels = {f"phrase-{number}": dict.fromkeys(named[number], 1) for number in left_out}
    return Collection("phrases", [], queries, qrels)


def chosen(
    corpus: Sequence[Paper], collections: Sequence[Collection], most: int, chance: np.random.Generator
) -> list[Paper]:
    """Relevant ones by turns, so that no query is left without, and others by chance."""
    relevant = Counter(paper for collection in collections for of in collection.qrels.values() for paper in of)
    order = chance.permutation(len(corpus)).tolist()
    order.sort(key=lambda number: corpus[number].id not in relevant)
    first = order[: max(most * 2 // 3, 1)]
    rest = [number for number in order if corpus[number].id not in relevant]
    return [corpus[number] for number in dict.fromkeys([*first, *rest][:most])]


def within(collection: Collection) -> Collection:
    """Only relevant papers that are searched, and only queries that have one."""
    there = {paper.id for paper in collection.papers}
    qrels = {qid: {p: grade for p, grade in of.items() if p in there} for qid, of in collection.qrels.items()}
    qrels = {qid: of for qid, of in qrels.items() if of}
    return replace(collection, qrels=qrels, queries={qid: collection.queries[qid] for qid in qrels})


def bundles(
    bundle: Bundle, matcher: PhraseMatcher, left_out: Sequence[int], folder: Path
) -> tuple[dict[str, tuple[Encoder, Encoder]], float]:
    """By name an encoder as the bundle says and one that prunes nothing; and how well rows are guessed."""
    kept = np.setdiff1d(np.arange(len(matcher.phrases)), left_out)
    nothing = {precision: no_columns(bundle, precision) for precision in bundle.precisions}
    none = NewKeyphrases((), nothing, np.zeros(0, np.float32))
    less = write_changed(bundle, folder / "without", kept, none, {})
    added = add_keyphrases(
        str(folder / "without"), [Phrase(matcher.phrases[number]) for number in left_out], folder / "added"
    )
    all_ = {"trained": bundle, "without": less, "added": added.bundle}
    return {name: pruned_and_whole(each) for name, each in all_.items()}, added.cosine


def no_columns(bundle: Bundle, precision: Precision) -> Columns:
    model = onnx.load(bundle.path(GRAPHS[precision]))
    decoder = find_decoder(model, "keyphrases", len(load_phrases(bundle.path(KEYPHRASES))))
    return read_columns(model, decoder).take(np.arange(0))


def vectorless(encoder: Encoder, papers: Sequence[Paper]) -> list[EncodedPaper]:
    """Without dense vectors, which are the same in all bundles."""
    return [replace(each, dense=None, sentence_vectors=None) for each in encoder.encode_papers(papers)]


def without(paper: EncodedPaper, phrases: set[str]) -> EncodedPaper:
    return replace(paper, keyphrases={name: w for name, w in paper.keyphrases.items() if name not in phrases})


def activity(encoded: dict[str, list[EncodedPaper]], phrases: Sequence[str]) -> None:
    """Do added keyphrases stand in as many papers as trained ones, and in the same?"""
    asked, pairs = set(phrases), []
    for name in ("trained", "added"):
        found = {(p.paper.id, n): w for p in encoded[name] for n, w in p.keyphrases.items() if n in asked}
        mean = np.mean(list(found.values()) or [0.0])
        print(f"  {name:8} {len(found) / len(asked):6.1f} papers a left-out keyphrase, mean weight {mean:.3f}")
        pairs.append(set(found))
    shared = len(pairs[0] & pairs[1]) / max(len(pairs[0] | pairs[1]), 1)
    print(f"  {shared:.1%} of paper and keyphrase pairs of either are of both")


def report(
    collection: Collection, encoders: dict[str, Encoder], encoded: dict[str, list[EncodedPaper]], mass: float
) -> None:
    print(f"\n{collection.name}: {len(collection.queries)} queries; nDCG@10 (difference from without, p)")
    for label, alone in (("keyphrases alone", True), ("whole sparse score", False)):
        values = {}
        for name in ("without", "trained", "added"):
            queries = {qid: encoders[name].encode_query(text) for qid, text in collection.queries.items()}
            values[name] = ndcg(collection, ranked(encoded[name], queries, mass, alone))
        cells = [f"without {values['without'].mean():.4f}"]
        cells += [f"{name} {compared(values[name], values['without'])}" for name in ("trained", "added")]
        difference = compared(values["added"], values["trained"])
        print(f"  {label:20}", "   ".join(cells), f"  added against trained {difference}", flush=True)


def ranked(papers: Sequence[EncodedPaper], queries: dict[str, EncodedQuery], mass: float, alone: bool) -> Run:
    """By the stores' own formula, over papers pruned as a bundle is by default."""
    parts = [({} if alone else prune(p.tokens, mass), prune(p.keyphrases, mass)) for p in papers]
    postings: dict[str, list[int]] = {}
    for number, (tokens, keyphrases) in enumerate(parts):
        for name in (*(f"t:{n}" for n in tokens), *(f"k:{n}" for n in keyphrases)):
            postings.setdefault(name, []).append(number)
    run: Run = {}
    for qid, query in queries.items():
        projection = Projection.of({} if alone else query.tokens, query.keyphrases, query.beta)
        names = (*(f"t:{n}" for n in projection.tokens), *(f"k:{n}" for n in projection.keyphrases))
        found = sorted({number for name in names for number in postings.get(name, ())})
        if not found:
            run[qid] = {}
            continue
        scores = projection.contributions([parts[number] for number in found]).sum(axis=1)
        best = np.argsort(-scores, kind="stable")[:DEPTH]
        run[qid] = {papers[found[i]].paper.id: float(scores[i]) for i in best}
    return run


if __name__ == "__main__":
    main()
