"""Keyphrase generation on the development part of Inspec: F1@5 and F1@10 of a bundle, TF-IDF, YAKE and TextRank.

    python benchmarks/keyphrases.py [BUNDLE] [--data ../shared/data] [--yake]

A phrase is right if its words, stemmed by Porter's stemmer, are those of a phrase that the annotators named, in the
same order; phrases with the same stems count once. Precision is over k phrases even where fewer were given, recall over
all that the annotators named, in the text or not; F1 of each text, and the mean over texts. p is that of a paired
randomisation test against TF-IDF.

YAKE's package names two licences, LGPL and GPL, so it is not among our development requirements: pip install yake.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import Stemmer

from sciret.encoders.bundle import KEYPHRASES, load_bundle
from sciret.encoders.encoder import Encoder
from sciret.encoders.phrases import load_phrases
from sciret.evaluation.significance import randomisation_p
from sciret.retrieval.keyphrases import Keyphrases, keyphrases, text_as_paper
from sciret.training.states import FUNCTION_WORDS

DEPTHS = (5, 10)
MOST = 50
LONGEST = 3
"""Words of an n-gram."""
Stems = tuple[str, ...]
STEMMER = Stemmer.Stemmer("porter")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", nargs="?", default="default")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--texts", type=int, default=0, help="so many of the part only")
    parser.add_argument("--yake", action="store_true")
    options = parser.parse_args()
    with gzip.open(options.data / "inspec.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    dev = [row for row in rows if row["split"] == "dev"][: options.texts or None]
    texts, named = [row["text"] for row in dev], [row["keyphrases"] for row in dev]
    found = {
        "TF-IDF": tfidf(texts, [row["text"] for row in rows]),
        "TextRank (summa)": [textrank(text) for text in texts],
    }
    if options.yake:
        found["YAKE"] = yake_of(texts)
    given = list(generated(options.bundle, texts))
    for label, choose in KINDS.items():
        found[f"{options.bundle}: {label}"] = [choose(one) for one in given]
    found["what the vocabulary could reach"] = reachable(options.bundle, named)
    report(found, named)


def present_first(one: Keyphrases) -> list[str]:
    return [*one.present, *one.absent]


def by_weight(one: Keyphrases) -> list[str]:
    both = {**one.present, **one.absent}
    return sorted(both, key=lambda phrase: -both[phrase])


KINDS: dict[str, Callable[[Keyphrases], list[str]]] = {
    "present only": lambda one: list(one.present),
    "present, then absent": present_first,
    "all by weight": by_weight,
}


def generated(bundle: str, texts: Sequence[str]) -> Iterator[Keyphrases]:
    """As `sciret keyphrases` gives them."""
    return keyphrases((text_as_paper(text) for text in texts), Encoder.open(bundle), MOST)


def reachable(bundle: str, named: Sequence[Sequence[str]]) -> list[list[str]]:
    """What the annotators named and the vocabulary has: a phrase that it has not is never given."""
    known = {stems(phrase) for phrase in load_phrases(load_bundle(bundle).path(KEYPHRASES))}
    best = [[phrase for phrase in phrases if stems(phrase) in known] for phrases in named]
    share = sum(map(len, best)) / sum(map(len, named))
    mean = sum(map(len, named)) / len(named)
    print(f"{len(named)} texts, {mean:.1f} phrases a text, {share:.1%} of them in the vocabulary")
    return best


def tfidf(texts: Sequence[str], corpus: Sequence[str]) -> list[list[str]]:
    """Runs of one to three words between function words and marks, by count times inverse document frequency."""
    having = Counter(gram for text in corpus for gram in set(grams(text)))

    def ranked(text: str) -> list[str]:
        counts = Counter(grams(text))
        weights = {gram: count * math.log(len(corpus) / having[gram]) for gram, count in counts.items()}
        return sorted(weights, key=lambda gram: -weights[gram])[:MOST]

    return [ranked(text) for text in texts]


def grams(text: str) -> Iterator[str]:
    for run in re.split(r"[^\w\s'-]+", text.lower()):
        words: list[str] = []
        for word in [*run.split(), ""]:
            if word and word not in FUNCTION_WORDS:
                words.append(word)
                continue
            for first in range(len(words)):
                for end in range(first + 1, min(first + LONGEST, len(words)) + 1):
                    yield " ".join(words[first:end])
            words = []


def textrank(text: str) -> list[str]:
    from summa.keywords import keywords

    scored: list[tuple[str, float]] = keywords(text, ratio=1.0, scores=True)
    return [phrase for phrase, _ in scored][:MOST]


def yake_of(texts: Sequence[str]) -> list[list[str]]:
    import yake

    extractor = yake.KeywordExtractor(lan="en", n=LONGEST, top=MOST)
    return [[phrase for phrase, _ in extractor.extract_keywords(text)] for text in texts]


def report(found: dict[str, list[list[str]]], named: Sequence[Sequence[str]]) -> None:
    base = scores(found["TF-IDF"], named)
    print(f"{'':44}", *(f"{f'F1@{depth}':>10} {'(p)':>8}" for depth in DEPTHS), f"{'given':>8}")
    for label, phrases in found.items():
        values = scores(phrases, named)
        ps = randomisation_p(values - base)
        cells = (f"{mean:10.4f} {f'({p:.3f})':>8}" for mean, p in zip(values.mean(axis=0), ps, strict=True))
        print(f"{label:44}", *cells, f"{np.mean([len(each) for each in phrases]):8.1f}")


def scores(found: Sequence[Sequence[str]], named: Sequence[Sequence[str]]) -> np.ndarray:
    """F1 [texts, depths]."""
    return np.array([[f1(given, gold, depth) for depth in DEPTHS] for given, gold in zip(found, named, strict=True)])


def f1(given: Sequence[str], gold: Sequence[str], depth: int) -> float:
    first = list(dict.fromkeys(map(stems, given)))[:depth]
    wanted = {stems(phrase) for phrase in gold}
    right = len(wanted.intersection(first))
    return 2 * right / (depth + len(wanted))


def stems(phrase: str) -> Stems:
    return tuple(STEMMER.stemWords(re.findall(r"\w+", phrase.lower())))


if __name__ == "__main__":
    main()
