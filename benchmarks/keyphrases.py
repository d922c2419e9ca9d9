"""Keyphrases of Inspec's development part or of eLife: F1@5 and F1@10 of a bundle, TF-IDF, YAKE and TextRank.

    python benchmarks/keyphrases.py [BUNDLE] [--data ../shared/data] [--of dev|train|elife] [--yake]

A phrase is right if its words, stemmed by Porter's stemmer, are those of a phrase that the annotators named, in the
same order; phrases with the same stems count once. Precision is over k phrases even where fewer were given, recall over
all that the annotators named, in the text or not; F1 of each text, and the mean over texts. Each p is that of a paired
randomisation test, the first against TF-IDF, the second against YAKE.

The constants in retrieval/ were chosen on `train` and `elife` together: 300 papers of eLife, whose authors name shorter
phrases and fewer of them. The model was trained on eLife's papers and their keyphrases, so what it reaches there is no
measure of how good it is; `dev` was neither trained nor tuned on.

YAKE's package names two licences, LGPL and GPL, so it is not among our development requirements: pip install yake.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import Stemmer

from sciret.encoders.bundle import KEYPHRASES, load_bundle
from sciret.encoders.encoder import Encoder
from sciret.encoders.phrases import load_phrases
from sciret.evaluation.significance import randomisation_p
from sciret.paper import Paper
from sciret.retrieval.keyphrases import TYPED, Keyphrases, keyphrases, text_as_paper
from sciret.training.states import FUNCTION_WORDS

DEPTHS = (5, 10)
PEERS = ("TF-IDF", "YAKE")
"""Those that the others are tested against."""
LEAST = 3
"""Keyphrases of a paper of the sample of eLife."""
SAMPLE = 300
MOST = 50
LONGEST = 3
"""Words of an n-gram."""
Stems = tuple[str, ...]
STEMMER = Stemmer.Stemmer("porter")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", nargs="?", default="default")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--of", choices=("dev", "train", "elife"), default="dev", help="which texts  [default: dev]")
    parser.add_argument("--texts", type=int, default=0, help="so many of the part only")
    parser.add_argument("--yake", action="store_true")
    options = parser.parse_args()
    texts = read(options.data, options.of)[: options.texts or None]
    named = [text.named for text in texts]
    found = {"TF-IDF": tfidf(texts, options.data), "TextRank (summa)": [textrank(text.whole) for text in texts]}
    if options.yake:
        found["YAKE"] = yake_of([text.whole for text in texts])
    found[options.bundle] = [[*one.present, *one.absent][:MOST] for one in generated(options.bundle, texts)]
    found["what the vocabulary could reach"] = reachable(options.bundle, named)
    report(found, named)


@dataclass(frozen=True)
class Text:
    paper: Paper
    named: tuple[str, ...]

    @property
    def whole(self) -> str:
        """As the peers read it: a title ends like a sentence."""
        title = self.paper.title
        return f"{title}{'' if title.endswith(tuple('.?!')) else '.'} {self.paper.abstract}"


def read(data: Path, part: str) -> list[Text]:
    if part != "elife":
        rows = [row for row in lines(data / "inspec.jsonl.gz") if row["split"] == part]
        return [Text(text_as_paper(row["text"]), tuple(row["keyphrases"])) for row in rows]
    rows = [row for row in lines(data / "elife.jsonl.gz") if row["abstract"] and len(row["keyphrases"]) >= LEAST]
    random.Random(7).shuffle(rows)
    return [Text(Paper(row["id"], row["title"], row["abstract"]), tuple(row["keyphrases"])) for row in rows[:SAMPLE]]


def lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as records:
        return [json.loads(line) for line in records]


def generated(bundle: str, texts: Sequence[Text]) -> Iterator[Keyphrases]:
    """As `sciret keyphrases` gives them. Absent ones count where a text has too few present ones."""
    return keyphrases((text.paper for text in texts), Encoder.open(bundle), MOST)


def reachable(bundle: str, named: Sequence[Sequence[str]]) -> list[list[str]]:
    """What the annotators named and the vocabulary has: all that could be named by the vocabulary alone."""
    known = {stems(phrase) for phrase in load_phrases(load_bundle(bundle).path(KEYPHRASES))}
    best = [[phrase for phrase in phrases if stems(phrase) in known] for phrases in named]
    share = sum(map(len, best)) / sum(map(len, named))
    mean = sum(map(len, named)) / len(named)
    print(f"{len(named)} texts, {mean:.1f} phrases a text, {share:.1%} of them in the vocabulary")
    return best


def tfidf(texts: Sequence[Text], data: Path) -> list[list[str]]:
    """Runs of one to three words between function words and marks, by count times inverse document frequency.

    Documents are counted in all of Inspec, or in the sample of eLife.
    """
    of_inspec = texts[0].paper.id == TYPED
    corpus = [text.whole for text in (read(data, "train") + read(data, "dev") if of_inspec else texts)]
    having = Counter(gram for text in corpus for gram in set(grams(text)))

    def ranked(text: str) -> list[str]:
        counts = Counter(grams(text))
        weights = {gram: count * math.log(len(corpus) / having[gram]) for gram, count in counts.items()}
        return sorted(weights, key=lambda gram: -weights[gram])[:MOST]

    return [ranked(text.whole) for text in texts]


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
    bases = [scores(found[peer], named) for peer in PEERS if peer in found]
    width = 2 + 7 * len(bases)
    print(f"{'':44}", *(f"{f'F1@{depth}':>10} {'(p)':>{width}}" for depth in DEPTHS), f"{'given':>8}")
    for label, phrases in found.items():
        values = scores(phrases, named)
        ps = np.array([randomisation_p(values - base) for base in bases])  # [peers, depths]
        told = [f"({', '.join(f'{p:.3f}' for p in column)})" for column in ps.T]
        cells = (f"{mean:10.4f} {p:>{width}}" for mean, p in zip(values.mean(axis=0), told, strict=True))
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
