"""Queries with a paper that answers them, from five kinds of data (FRIEREN): what each kind is read from and yields.

- titles: a paper's title asks for its abstract
- contexts: a sentence that cites a paper asks for it. {"citing", "context", "cited": [{"id", "title"}, ...]}
- cited_titles: the same for cited papers that the corpus does not have: the positive is a title without abstract
- cocitations: of two papers cited in one sentence, title or a sentence of one asks for the other.
  {"a", "b", "contexts"}, or from contexts
- keyphrases: one to three of the authors' keyphrases ask for the paper
- queries: what users typed and then opened. {"query", "clicked": [id, ...], "shown": [id, ...]}
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sciret.encoders.phrase_words import phrase_key, phrase_letters
from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.sources.stream import open_lines
from sciret.training.draws import draw, generator
from sciret.training.phrase_grams import author_keyphrases

SourceName = Literal["titles", "contexts", "cited_titles", "cocitations", "keyphrases", "queries"]
SOURCES: tuple[SourceName, ...] = get_args(SourceName)

FEWEST_WORDS = 4
"""Contexts and titles with fewer words ask for nothing in particular."""
MOST_CITED = 8
"""A sentence that cites more papers than this says too little about each."""
_MARK = re.compile(r"\s*\[CITE\]|\s*\(\s*[;,\s]*\)")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Example:
    source: SourceName
    query: str
    positive: str
    origin: str
    """Id of the paper that asks (the one that cites), or the user's query: it decides the split."""
    relevant: tuple[str, ...] = ()
    """Other papers that answer the query: no negatives."""
    shown: tuple[str, ...] = ()
    """Papers that a user saw above the one that was opened, and did not open: the hardest negatives there are."""
    stratum: str = ""
    """A cap is shared evenly by these."""

    @property
    def key(self) -> str:
        return f"{self.query}\0{self.positive}"


def title_examples(papers: Iterable[Paper], stratum: str) -> Iterator[Example]:
    for paper in papers:
        if paper.abstract and len(paper.title.split()) >= FEWEST_WORDS:
            yield Example("titles", paper.title, paper.id, paper.id, stratum=stratum)


def keyphrase_examples(papers: Iterable[Paper], stratum: str, seed: int) -> Iterator[Example]:
    """One a paper: asking the same paper by ever other subsets of its keyphrases adds little."""
    for paper in papers:
        phrases = list(author_keyphrases(paper))
        if not phrases or not paper.abstract:
            continue
        chance = generator(seed, "keyphrases", paper.id)
        chosen = chance.sample(phrases, min(len(phrases), chance.choice((1, 2, 2, 3))))
        yield Example("keyphrases", ", ".join(chosen), paper.id, paper.id, stratum=stratum)


def context_examples(path: str, known: Collection[str]) -> Iterator[Example]:
    """Of papers in the corpus. A paper never asks for itself."""
    for where, row in rows(path):
        citing, query, cited = _context(where, row)
        ids = [each["id"] for each in cited if each.get("id") in known and each.get("id") != citing]
        for positive in dict.fromkeys(ids):
            yield Example("contexts", query, positive, citing, tuple(i for i in ids if i != positive))


def cited_title_examples(path: str, known: Collection[str]) -> Iterator[Example]:
    """Of papers that are not in the corpus; `title_id` names them."""
    for where, row in rows(path):
        citing, query, cited = _context(where, row)
        titles = [title_id(each["title"]) for each in cited if each.get("id") not in known and _is_title(each)]
        for positive in dict.fromkeys(titles):
            yield Example("cited_titles", query, positive, citing, tuple(t for t in titles if t != positive))


def cited_titles(path: str, known: Collection[str]) -> Iterator[Paper]:
    """The papers that are known by their titles only, some several times."""
    for where, row in rows(path):
        for each in _context(where, row)[2]:
            if each.get("id") not in known and _is_title(each):
                yield Paper(title_id(each["title"]), _SPACES.sub(" ", each["title"]).strip())


def title_id(title: str) -> str:
    """Equal for all spellings of a title."""
    return f"title:{draw(0, phrase_letters(title)):016x}"


def _is_title(cited: Mapping[str, Any]) -> bool:
    title = cited.get("title")
    return isinstance(title, str) and len(title.split()) >= FEWEST_WORDS


def cocited_pairs(
    cocitations: str | None, contexts: str | None, known: Collection[str]
) -> Iterator[tuple[str, str, str]]:
    """Two papers of the corpus and the sentence that cites both; from either file, so some come twice."""
    if cocitations:
        for where, row in rows(cocitations):
            try:
                a, b, sentences = str(row["a"]), str(row["b"]), [str(text) for text in row.get("contexts", [])]
            except (KeyError, TypeError) as error:
                raise _refused(where, 'a co-citation is {"a": id, "b": id, "contexts": [text]}', row) from error
            if a in known and b in known and a != b:
                yield from ((a, b, clean(text)) for text in sentences or [""])
    if contexts:
        for where, row in rows(contexts):
            _, query, cited = _context(where, row)
            ids = sorted({str(each["id"]) for each in cited if each.get("id") in known})
            yield from ((a, b, query) for n, a in enumerate(ids) for b in ids[n + 1 :])


def cocitation_examples(
    pairs: Iterable[tuple[str, str, str]],
    paper: Callable[[str], Paper],
    sentences: Callable[[str], list[str]],
    seed: int,
) -> Iterator[Example]:
    """Both ways, each pair once. The origin is the sentence that cites both, since the file does not say who cites."""
    seen: set[tuple[str, str]] = set()
    for a, b, context in pairs:
        if (a, b) in seen or (b, a) in seen:
            continue
        seen.add((a, b))
        for one, other in ((a, b), (b, a)):
            asking = paper(one)
            chance = generator(seed, "cocitations", one, other)
            query = asking.title
            if chance.random() < 0.5 and (told := [s for s in sentences(asking.abstract) if len(s.split()) > 6]):
                query = chance.choice(told)
            yield Example("cocitations", query, other, context, (one,))


def query_examples(path: str, known: Collection[str]) -> Iterator[Example]:
    for where, row in rows(path):
        query, clicked, shown = row.get("query"), row.get("clicked"), row.get("shown", [])
        if not isinstance(query, str) or not isinstance(clicked, list) or not isinstance(shown, list):
            raise _refused(
                where, 'a line of a query log is {"query": text, "clicked": [id, ...], "shown": [id, ...]}', row
            )
        opened = [str(each) for each in clicked if str(each) in known]
        passed = tuple(str(each) for each in shown if str(each) in known and str(each) not in opened)
        if phrase_key(query):
            for positive in dict.fromkeys(opened):
                yield Example(
                    "queries", clean(query), positive, query, tuple(o for o in opened if o != positive), passed
                )


def rows(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file of JSON Lines, gzip or not, with file and line; anything else is an error."""
    with open_lines(path) as lines:
        for line in lines:
            if not line.data.strip():
                continue
            where = f"{path}:{line.number}"
            try:
                row = json.loads(line.data)
            except ValueError as error:
                raise RecordError(where, f"not JSON ({error}); a line is one object", line.text[:200]) from error
            if not isinstance(row, dict) or not line.whole:
                raise RecordError(
                    where, "not a JSON object of reasonable length; a line is one object", line.text[:200]
                )
            yield where, row
        if lines.broken:
            raise RecordError(path, lines.broken)


def _context(where: str, row: Mapping[str, Any]) -> tuple[str, str, list[dict[str, Any]]]:
    """Who cites, with which words, and whom; nobody where the sentence is no use."""
    citing, context, cited = row.get("citing"), row.get("context"), row.get("cited")
    if not isinstance(citing, str) or not isinstance(context, str) or not isinstance(cited, list):
        reason = 'a citation is {"citing": id, "context": text, "cited": [{"id": id, "title": text}, ...]}'
        raise _refused(where, reason, row)
    if not all(isinstance(each, dict) for each in cited):
        raise _refused(where, '"cited" is a list of objects with "id", "title" or both', row)
    query = clean(context)
    useful = len(query.split()) >= FEWEST_WORDS and len(cited) <= MOST_CITED
    return citing, query, cited if useful else []


def clean(context: str) -> str:
    """Without citation marks."""
    return _SPACES.sub(" ", _MARK.sub("", context)).strip()


def _refused(where: str, reason: str, row: Mapping[str, Any]) -> RecordError:
    return RecordError(where, reason, json.dumps(row)[:500])
