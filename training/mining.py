"""FRIEREN: training triplets mined from references, titles, keyphrases and query logs. docs/training.md describes them.

Papers, words and facts are gathered once; then examples stream past: drawn, split, given negatives, written. A run that
was stopped is continued by the same call: what is written stays, and nothing is drawn again differently.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciret.embedded.store import EmbeddedStore
from sciret.encoders.bundle import sha256
from sciret.errors import SettingsError
from sciret.paper import Paper
from sciret.sources.reader import open_source
from sciret.training import mined_examples as mined
from sciret.training.hard_negatives import ModelRanking, NegativeMiner, Ranking, by_words, open_words
from sciret.training.mined_examples import Example, SourceName
from sciret.training.mining_config import MiningConfig, digest
from sciret.training.mining_survey import Survey
from sciret.training.paper_facts import PaperFacts
from sciret.training.triplet_file import TripletFile

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """What is known of the papers before mining begins."""

    config: MiningConfig
    words: EmbeddedStore
    facts: PaperFacts
    titles: EmbeddedStore | None
    title_facts: PaperFacts

    def papers(self, path: str) -> Iterator[Paper]:
        return open_papers(path)

    def paper(self, paper_id: str) -> Paper:
        return self.words.get([paper_id])[paper_id].paper

    def examples(self, source: SourceName) -> Iterator[Example]:
        """Of one source, in the order of its files."""
        config, known = self.config, self.facts.rows
        match source:
            case "titles":
                for path in config.corpus:
                    yield from mined.title_examples(open_papers(path), Path(path).name)
            case "keyphrases":
                for path in config.corpus:
                    yield from mined.keyphrase_examples(open_papers(path), Path(path).name, config.seed)
            case "contexts":
                yield from mined.context_examples(_given(config.contexts), known)
            case "cited_titles":
                yield from mined.cited_title_examples(_given(config.contexts), known)
            case "cocitations":
                pairs = mined.cocited_pairs(config.cocitations, config.contexts, known)
                yield from mined.cocitation_examples(pairs, self.paper, _sentences, config.seed)
            case "queries":
                yield from mined.query_examples(_given(config.queries), known)


def mine(
    config: MiningConfig, out: Path, *, model: ModelRanking | None = None, tell: Tell = lambda _: None
) -> dict[str, Any]:
    """Writes OUT, its manifest, and a folder beside it with the words of the papers; returns the manifest."""
    identity = {"config": config.to_dict(), "inputs": config.inputs(), "model": model.fingerprint if model else None}
    work = out.with_name(f"{_stem(out)}.work")
    work.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        file = stack.enter_context(TripletFile.open(out, digest(identity)))
        if file.continued:
            tell(f"continuing after {file.continued:,} triplets")
        gathered = _gather(config, work, stack, tell)
        survey = _survey(gathered, tell)
        for source in config.sources:
            tell(f"mining {source}")
            _mine_source(gathered, survey, source, file, model.best if model else None)
        counts = {name: {"found": survey.found[name], **file.counts[name]} for name in config.sources}
        file.finish()
    files = {"triplets": {"file": out.name, "sha256": sha256(out)}}
    if gathered.titles is not None:
        papers = out.with_name(f"{_stem(out)}.papers.jsonl.gz")
        _write_titles(config, gathered.facts, papers)
        files["papers"] = {"file": papers.name, "sha256": sha256(papers)}
    manifest = {"format": 1, **identity, "counts": counts, **files}
    manifest_path(out).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return manifest


def manifest_path(out: Path) -> Path:
    return out.with_name(f"{_stem(out)}.manifest.json")


def open_papers(path: str) -> Iterator[Paper]:
    """Those that may be searched: what is learned from a text inherits its access."""
    for record in open_source(path, title_from_abstract=True):
        if isinstance(record, Paper) and not record.deleted and record.is_searchable():
            yield record


def _gather(config: MiningConfig, work: Path, stack: ExitStack, tell: Tell) -> Gathered:
    facts, title_facts = PaperFacts(), PaperFacts()
    for path in config.corpus:
        tell(f"reading {path}")
        facts.add(open_papers(path))
    if not facts:
        raise SettingsError(f"{', '.join(config.corpus)}: no paper that can be read and is open")
    tell(f"indexing the words of {len(facts):,} papers")
    every = (paper for path in config.corpus for paper in open_papers(path))
    words = stack.enter_context(open_words(work / "words.db", every))
    titles = None
    if "cited_titles" in config.sources:
        tell("indexing cited titles")
        title_facts.add(mined.cited_titles(_given(config.contexts), facts.rows))
        titles = stack.enter_context(open_words(work / "titles.db", _distinct_titles(config, facts)))
    return Gathered(config, words, facts, titles, title_facts)


def _survey(gathered: Gathered, tell: Tell) -> Survey:
    config = gathered.config
    survey = Survey(config.seed, config.dev_share)
    survey.exclude(config.exclude)
    known = gathered.facts.rows
    for source in config.sources:
        tell(f"counting {source}")
        if source == "cocitations":
            for a, b, context in mined.cocited_pairs(config.cocitations, config.contexts, known):
                survey.cited_together(a, b, context)
                gathered.facts.cited_together(a, b)
        survey.look_at(source, gathered.examples(source), config.caps.get(source))
    return survey


def _mine_source(
    gathered: Gathered, survey: Survey, source: SourceName, file: TripletFile, model: Ranking | None
) -> None:
    miner = _miner(gathered, source, model)
    written: set[str] = set()
    for example in gathered.examples(source):
        if not survey.takes(example) or example.key in written:
            continue
        split = survey.split(example)
        if not split or survey.leaks(example, split):
            continue
        written.add(example.key)
        if file.passes_over():
            continue
        negatives, by_chance = miner.negatives(example)
        triplet = {
            "source": source,
            "query": example.query,
            "positive": example.positive,
            "negatives": negatives,
            "weight": gathered.config.weight(source),
            "split": split,
        }
        file.write(triplet, negatives=len(negatives), negatives_by_chance=by_chance)


def _miner(gathered: Gathered, source: SourceName, model: Ranking | None) -> NegativeMiner:
    config = gathered.config
    if source == "cited_titles" and gathered.titles is not None:  # a title among abstracts would be known by its length
        facts = gathered.title_facts
        return NegativeMiner(
            [by_words(gathered.titles)], facts, list(facts.rows), config.negatives, config.depth, config.seed
        )
    rankings: Sequence[Ranking] = [by_words(gathered.words), *([model] if model else [])]
    facts = gathered.facts
    return NegativeMiner(rankings, facts, list(facts.rows), config.negatives, config.depth, config.seed)


def _distinct_titles(config: MiningConfig, facts: PaperFacts) -> Iterator[Paper]:
    seen: set[str] = set()
    for paper in mined.cited_titles(_given(config.contexts), facts.rows):
        if paper.id not in seen:
            seen.add(paper.id)
            yield paper


def _write_titles(config: MiningConfig, facts: PaperFacts, path: Path) -> None:
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as file:
        for paper in _distinct_titles(config, facts):
            file.write(json.dumps(paper.to_dict(), ensure_ascii=False).encode() + b"\n")
    partial.replace(path)


def _sentences(text: str) -> list[str]:
    from nupunkt import sent_tokenize  # here, since it takes 0.1 s to import

    return [str(sentence).strip() for sentence in sent_tokenize(text)]


def _given(path: str | None) -> str:
    if path is None:
        raise SettingsError("this source needs a file")
    return path


def _stem(out: Path) -> str:
    return out.name.removesuffix(".gz").removesuffix(".jsonl")
