"""FRIEREN: training triplets mined from references, titles, keyphrases and query logs. docs/training.md describes them.

Papers, words and facts are gathered once; then examples stream past: drawn, split, given negatives, written. A run that
was stopped is continued by the same call: what is written stays, and nothing is drawn again differently.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from sciret.training.example_files import ExampleFiles
from sciret.training.hard_negatives import ModelRanking, NegativeMiner, Ranking, add_words, by_words
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
    files: ExampleFiles
    words: EmbeddedStore
    facts: PaperFacts
    titles: EmbeddedStore | None
    title_facts: PaperFacts

    def paper(self, paper_id: str) -> Paper:
        return self.words.get([paper_id])[paper_id].paper

    def examples(self, source: SourceName) -> Iterator[Example]:
        """Of one source, in the order of its files; they are kept for reading again."""
        config, known = self.config, self.facts.rows
        match source:
            case "titles" | "keyphrases":  # made while the papers were read
                return self.files.read(source)
            case "contexts":
                found = mined.context_examples(_given(config.contexts), known)
            case "cited_titles":
                found = mined.cited_title_examples(_given(config.contexts), known)
            case "cocitations":
                pairs = mined.cocited_pairs(config.cocitations, config.contexts, known)
                found = mined.cocitation_examples(pairs, self.paper, _sentences, config.seed)
            case "queries":
                found = mined.query_examples(_given(config.queries), known)
        return self.files.written(source, found)


def mine(
    config: MiningConfig, out: Path, *, model: ModelRanking | None = None, tell: Tell = lambda _: None
) -> dict[str, Any]:
    """Writes OUT, its manifest, and a folder beside it with the words of the papers; returns the manifest."""
    identity = {"config": config.to_dict(), "inputs": config.inputs(), "model": model.fingerprint if model else None}
    with ExitStack() as stack:
        file = stack.enter_context(TripletFile.open(out, digest(identity)))
        if file.continued:
            tell(f"continuing after {file.continued:,} triplets")
        gathered = _gather(config, out, stack, tell)
        survey = _survey(gathered, tell)
        for source in config.sources:
            tell(f"mining {source}")
            _mine_source(gathered, survey, source, file, model.best if model else None)
        counts = {name: {"found": survey.found[name], **file.counts[name]} for name in config.sources}
        file.finish()
    files = {"triplets": {"file": out.name, "sha256": sha256(out)}}
    if gathered.titles is not None:
        files["papers"] = {"file": titles_path(out).name, "sha256": sha256(titles_path(out))}
    manifest = {"format": 1, **identity, "counts": counts, **files}
    manifest_path(out).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return manifest


def manifest_path(out: Path) -> Path:
    return out.with_name(f"{_stem(out)}.manifest.json")


def titles_path(out: Path) -> Path:
    """Papers that are known by their titles only, for whoever trains on the triplets."""
    return out.with_name(f"{_stem(out)}.papers.jsonl.gz")


def open_papers(path: str) -> Iterator[Paper]:
    """Those that may be searched: what is learned from a text inherits its access."""
    for record in open_source(path, title_from_abstract=True):
        if isinstance(record, Paper) and not record.deleted and record.is_searchable():
            yield record


def _gather(config: MiningConfig, out: Path, stack: ExitStack, tell: Tell) -> Gathered:
    work = out.with_name(f"{_stem(out)}.work")
    work.mkdir(parents=True, exist_ok=True)
    files = ExampleFiles(work)
    files.clear()
    facts, title_facts = PaperFacts(), PaperFacts()
    words = stack.enter_context(EmbeddedStore.open(work / "words.db", create=True))
    for path in config.corpus:
        tell(f"reading {path}")
        add_words(words, facts.watch(files.watch(open_papers(path), Path(path).name, config.seed)))
    if not facts:
        raise SettingsError(f"{', '.join(config.corpus)}: no paper that can be read and is open")
    titles = None
    if "cited_titles" in config.sources:
        tell("reading cited titles")
        titles = stack.enter_context(EmbeddedStore.open(work / "titles.db", create=True))
        found = _written(mined.cited_titles(_given(config.contexts), facts.rows), titles_path(out))
        add_words(titles, title_facts.watch(found))
    return Gathered(config, files, words, facts, titles, title_facts)


def _written(papers: Iterable[Paper], path: Path) -> Iterator[Paper]:
    """Each of these papers once, on their way into a file."""
    seen: set[str] = set()
    partial = path.with_name(path.name + ".partial")
    # No time in the header: the same data must give the same bytes.
    with partial.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as file:
        for paper in papers:
            if paper.id not in seen:
                seen.add(paper.id)
                file.write(json.dumps(paper.to_dict(), ensure_ascii=False).encode() + b"\n")
                yield paper
    partial.replace(path)


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
    for example in gathered.files.read(source):
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
            [by_words(gathered.titles, facts.words)],
            facts,
            list(facts.rows),
            config.negatives,
            config.depth,
            config.seed,
        )
    rankings: Sequence[Ranking] = [by_words(gathered.words, gathered.facts.words), *([model] if model else [])]
    facts = gathered.facts
    return NegativeMiner(rankings, facts, list(facts.rows), config.negatives, config.depth, config.seed)


def _sentences(text: str) -> list[str]:
    from nupunkt import sent_tokenize  # here, since it takes 0.1 s to import

    return [str(sentence).strip() for sentence in sent_tokenize(text)]


def _given(path: str | None) -> str:
    if path is None:
        raise SettingsError("this source needs a file")
    return path


def _stem(out: Path) -> str:
    return out.name.removesuffix(".gz").removesuffix(".jsonl")
