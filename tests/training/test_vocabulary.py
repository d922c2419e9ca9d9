"""The whole way from files of papers to a vocabulary."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import combinations, cycle, islice
from pathlib import Path

import pytest

from sciret.encoders.phrases import load_phrases
from sciret.errors import SettingsError
from sciret.training.phrase_counts import Termhood
from sciret.training.vocabulary import Source, build_vocabulary, write_phrases
from sciret.training.vocabulary_report import corpus_report, describe

BIOLOGY = ("gene regulation", "protein folding", "synaptic plasticity", "membrane transport", "cell migration")
COMPUTING = ("graph partitioning", "query optimization", "speech synthesis", "cache coherence", "type inference")
PROSE = ("We study {} and {} in detail.", "Here, {} depends on {}.", "The {} of {} was shown.")


def corpus(path: Path, terms: tuple[str, ...], papers: int, keywords: Iterable[str] = ()) -> Path:
    """Every paper is about two of the terms; the first two name a keyphrase."""
    rows = []
    for number, two in enumerate(islice(cycle(combinations(terms, 2)), papers)):
        text = " ".join(sentence.format(*two) for sentence in PROSE)
        rows.append(
            {
                "id": f"{path.stem}-{number}",
                "title": f"On {two[0]}",
                "abstract": text,
                "keywords": list(keywords)[number // 2 :],
            }
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def sources(tmp_path: Path) -> list[Source]:
    return [
        Source(str(corpus(tmp_path / "bio.jsonl", BIOLOGY, 10, ["Quality of life"])), "bio"),
        Source(str(corpus(tmp_path / "cs.jsonl", COMPUTING, 60)), "cs"),
    ]


def test_the_terms_of_both_corpora_are_found(sources: list[Source]) -> None:
    found = build_vocabulary(sources, 50)
    assert {*BIOLOGY, *COMPUTING, "quality of life"} <= set(found.phrases)
    assert found.terms >= len(found.phrases)


def test_groups_weigh_the_same_whatever_their_size(sources: list[Source]) -> None:
    """Ten papers of biology against sixty of computing: the first phrases are of both; by papers alone they are not."""
    first = build_vocabulary(sources, 6).phrases
    assert len(set(first) & {*BIOLOGY, "quality of life"}) >= 2
    assert len(set(first) & set(COMPUTING)) >= 2
    alike = build_vocabulary([Source(source.path) for source in sources], 4).phrases
    assert set(alike) <= set(COMPUTING)


def test_the_same_corpus_gives_the_same_file(sources: list[Source], tmp_path: Path) -> None:
    """Also with the files in another order."""
    files = []
    for number, order in enumerate((sources, sources[::-1], sources)):
        write_phrases(build_vocabulary(order, 8).phrases, tmp_path / f"{number}.txt")
        files.append((tmp_path / f"{number}.txt").read_bytes())
    assert files[0] == files[1] == files[2]


def test_phrases_come_by_gain_and_no_two_are_spellings_of_one(sources: list[Source], tmp_path: Path) -> None:
    found = build_vocabulary(sources, 50)
    assert found.gains == sorted(found.gains, reverse=True)
    write_phrases(found.phrases, tmp_path / "v.txt")
    assert load_phrases(tmp_path / "v.txt") == found.phrases


def test_a_phrase_is_named_by_its_commonest_spelling(tmp_path: Path) -> None:
    titles = ["Cross-lingual transfer", "cross-lingual transfer", "Crosslingual transfers", "cross lingual transfer"]
    rows = [{"id": str(n), "title": title, "abstract": f"It is about {title}."} for n, title in enumerate(titles)]
    path = tmp_path / "papers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    phrases = build_vocabulary([Source(str(path))], 10, termhood=Termhood(cohesion=-1)).phrases
    assert [phrase for phrase in phrases if "cross" in phrase] == ["cross-lingual transfer"]


def test_held_counts_phrases_of_each_paper(sources: list[Source]) -> None:
    held = build_vocabulary(sources, 50).held
    assert {name: len(each) for name, each in held.items()} == {"bio": 10, "cs": 60}
    assert (held["bio"] >= 2).all()
    assert held["bio"][0] > held["bio"][9]  # the keyphrase


def test_records_that_cannot_be_read_are_left_out(sources: list[Source]) -> None:
    path = Path(sources[0].path)
    path.write_text(path.read_text(encoding="utf-8") + "{broken\n", encoding="utf-8")
    assert len(build_vocabulary(sources, 5).held["bio"]) == 10


@pytest.mark.parametrize(
    ("given", "message"),
    [(["-"], "stdin"), (["missing.jsonl"], "no such file"), (["=x.jsonl"], "GROUP=FILE"), (["g="], "GROUP=FILE")],
)
def test_what_cannot_be_read_is_refused_at_once(given: list[str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        build_vocabulary([Source.parse(each) for each in given], 5)


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(SettingsError, match="no paper"):
        build_vocabulary([Source(str(tmp_path / "empty.jsonl"))], 5)


def test_a_file_whose_name_has_an_equals_sign(tmp_path: Path) -> None:
    path = tmp_path / "a=b.jsonl"
    path.write_text("", encoding="utf-8")
    assert Source.parse(str(path)) == Source(str(path))
    assert Source.parse("bio=x.jsonl") == Source("x.jsonl", "bio")


def test_a_report_of_phrases_and_of_a_corpus(sources: list[Source]) -> None:
    phrases = [*BIOLOGY, "gene regulation network", "never used"]
    figures = describe(phrases, 2)
    assert (figures["phrases"], figures["words"], figures["within"]) == (7, {2: 6, 3: 1}, 1)
    assert (figures["first"], figures["last"]) == (["gene regulation", "protein folding"], phrases[-2:])
    report = corpus_report(phrases, sources[0].path, 3)
    assert (report["papers"], report["mean"], report["papers_with"][1]) == (10, 2.0, 1.0)
    assert report["unused"] == 2
