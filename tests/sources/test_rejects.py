"""The rejects file: what stands in it, and how a corrected line is read again."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sciret.errors import RecordError, SettingsError
from sciret.sources import limits
from sciret.sources.rejects import RejectsFile

Read = Callable[..., tuple[list[Any], list[Any]]]
Rejects = Callable[[list[RecordError]], list[dict[str, Any]]]


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_a_refused_record_stands_in_it_with_its_reason(read: Read, rejects: Rejects) -> None:
    """The fields are the record's own, and the mark says where it was and why it was refused."""
    _, errors = read('{"id": "1", "title": "Café", "year": "soon", "more": [1]}')
    assert rejects(errors) == [
        {
            "id": "1",
            "title": "Café",
            "year": "soon",
            "more": [1],
            "_rejected": {"where": "papers.jsonl:1", "reason": "year must be a year in digits, not 'soon'"},
        }
    ]


CASES = {
    "papers.jsonl": '{"id": "1", "title": "T", "year": "soon", "more": 5}\n',
    "papers.csv": "Key;Titel;Year;Ort\n1;T;soon;Rom\n",
    "papers.tsv": "id\ttitle\tyear\n1\tT\tsoon\n",
    "papers.bib": "@article{1, title={T}, author={Doe, J.}, year={soon}, volume=2}\n",
    "papers.ris": "TY  - JOUR\nID  - 1\nTI  - T\nAU  - Doe, J.\nPY  - soon\nVL  - 2\nER  - \n",
}


@pytest.mark.parametrize("name", CASES)
def test_a_record_of_any_format_is_corrected_as_json(read: Read, rejects: Rejects, name: str) -> None:
    """A wrong field is refused again as long as it is wrong, and the record read as its format would have once not."""
    options = {"columns": {"title": "Titel"}} if "Titel" in CASES[name] else {}
    _, errors = read(CASES[name], name, **options)
    (line,) = rejects(errors)
    papers, again = read(lines(line), "rejects.jsonl")
    assert (papers, [error.reason for error in again]) == ([], [errors[0].reason])
    papers, again = read(lines({**line, "year": 2019}), "rejects.jsonl")
    assert again == []
    assert papers == read(CASES[name].replace("soon", "2019"), name, **options)[0]


BROKEN = {
    "papers.jsonl": ('{"id": "1", "title": "T"\n', '"T"', '"T"}'),
    "papers.csv": ("Key;Titel;Ort\n1;T\n", "1;T", "1;T;Rom"),
    "papers.tsv": ('id\ttitle\t\n1\t"T\t\n', '"T', "T"),
    "papers.bib": ("@string{jot = {J. of T.}}\n@article{1, title={T}, journal = jot, year={2019}\n", "{2019}", "2019}"),
    "papers.ris": ("TY  - JOUR\nID  - 1\nTI  - T\n", "TI  - T\n", "TI  - T\nER  - \n"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_record_is_corrected_as_text(read: Read, rejects: Rejects, name: str) -> None:
    """With what it needs from before it: a table's header and mapping, the definitions of a BibTeX file."""
    content, wrong, right = BROKEN[name]
    options = {"columns": {"title": "Titel"}} if "Titel" in content else {}
    _, errors = read(content, name, **options)
    (line,) = rejects(errors)
    papers, again = read(lines(line), "rejects.jsonl")
    assert (papers, len(again), again[0].where) == ([], 1, "rejects.jsonl:1")
    assert rejects(again)[0] | {"_rejected": 0} == line | {"_rejected": 0}
    papers, again = read(lines({**line, "_raw": line["_raw"].replace(wrong, right)}), "rejects.jsonl")
    assert again == []
    assert papers == read(content.replace(wrong, right), name, **options)[0]


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_record_may_be_written_as_fields(read: Read, rejects: Rejects, name: str) -> None:
    """Fields win over the text beside them."""
    content = BROKEN[name][0]
    _, errors = read(content, name, **({"columns": {"title": "Titel"}} if "Titel" in content else {}))
    papers, again = read(lines({**rejects(errors)[0], "id": "new", "title": "Written"}), "rejects.jsonl")
    assert again == []
    assert [(paper.id, paper.title, paper.extra) for paper in papers] == [("new", "Written", {})]


def test_bytes_that_are_not_utf8_are_kept(read: Read, rejects: Rejects) -> None:
    """As base64; they are refused again, and read once their text stands in `_raw`."""
    bad = '{"id": "1", "title": "Café"}'.encode("latin-1")
    _, errors = read(bad)
    (line,) = rejects(errors)
    assert base64.b64decode(line["_raw_base64"]) == bad
    assert "not UTF-8" in read(lines(line), "rejects.jsonl")[1][0].reason
    (paper,), _ = read(lines({**line, "_raw": bad.decode("latin-1")}), "rejects.jsonl")
    assert paper.title == "Café"


def test_lone_surrogates_survive_the_file(read: Read, rejects: Rejects) -> None:
    """They stand in it as the escapes they were."""
    _, errors = read(r'{"id": "1", "title": "a\ud800"}')
    (line,) = rejects(errors)
    assert line["title"] == "a\ud800"
    assert "lone surrogate" in read(lines(line), "rejects.jsonl")[1][0].reason


def test_a_duplicate_is_refused_until_its_id_is_another(read: Read, rejects: Rejects) -> None:
    """Ingesting the rejects file as it is must not replace the record that was kept."""
    papers, errors = read('{"id": "1", "title": "First"}\n{"id": "1", "title": "Second"}\n')
    assert [paper.title for paper in papers] == ["First"]
    (line,) = rejects(errors)
    papers, again = read(lines(line), "rejects.jsonl")
    assert (papers, [error.reason for error in again]) == ([], [errors[0].reason])
    (paper,), _ = read(lines({**line, "id": "2"}), "rejects.jsonl")
    assert (paper.id, paper.title, paper.extra) == ("2", "Second", {})


def test_of_what_is_too_long_the_beginning_is_kept(read: Read, rejects: Rejects) -> None:
    """A line of the rejects file is never longer than a line may be, so it says what to do instead."""
    _, errors = read('{"id": "' + "x" * limits.LINE_BYTES + '"}')
    (line,) = rejects(errors)
    assert line["_beginning"].startswith('{"id": "xxx')
    assert "only the beginning" in read(lines(line), "rejects.jsonl")[1][0].reason
    _, errors = read('{"id": "1", "title": "' + "x" * (limits.LINE_BYTES - 1000) + '"}')
    assert "title has" in errors[0].reason
    assert len(json.dumps(rejects(errors)[0])) < 2 * limits.BEGINNING_BYTES


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        ({"_raw": 5}, "must be texts"),
        ({"_columns": {"title": 5}}, "must be texts"),
        ({"_format": "docx"}, "is not one of jsonl, csv"),
        ({"_raw": "", "_raw_base64": "é"}, "is not base64"),
        ({"_raw": "\ud800"}, "lone surrogate"),
        ({"_raw": " "}, "holds no record"),
        ({"_before": "a;b\n"}, "no column for id"),
    ],
)
def test_a_line_that_was_damaged_in_editing_is_refused(
    read: Read, rejects: Rejects, damage: dict[str, Any], expected: str
) -> None:
    """With the reason; it loses nothing."""
    _, errors = read("id;title\n1;T;x\n", "papers.csv")
    line = {**rejects(errors)[0], **damage}
    _, again = read(lines(line), "rejects.jsonl")
    assert expected in again[0].reason
    assert rejects(again)[0] | {"_rejected": 0} == line | {"_rejected": 0}


def test_the_file_is_made_at_the_first_refusal(tmp_path: Path) -> None:
    """A clean run leaves none behind."""
    path = tmp_path / "rejects.jsonl"
    with RejectsFile(path) as file:
        assert not path.exists()
        file.write(RecordError("a:1", "bad", '{"id": "1"}'))
        assert len(path.read_text(encoding="utf-8").splitlines()) == 1
        assert file.count == 1


def test_earlier_refusals_stay(tmp_path: Path) -> None:
    """Later runs append, also behind a last line that an editor left without its end."""
    path = tmp_path / "rejects.jsonl"
    path.write_text('{"id": "1"}', encoding="utf-8")
    with RejectsFile(path) as first, RejectsFile(path) as second:
        for file in (first, second, first):
            file.write(RecordError("a:1", "bad", '{"id": "2"}'))
    found = [json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert found == ["1", "2", "2", "2"]


def test_it_cannot_be_its_own_source(tmp_path: Path) -> None:
    """A run would read what it writes, without end."""
    path = tmp_path / "rejects.jsonl"
    path.touch()
    with pytest.raises(SettingsError, match="is also a source of this run"):
        RejectsFile(path, sources=["-", str(tmp_path / "other.jsonl"), f"{tmp_path}/./rejects.jsonl"])


def test_a_place_that_cannot_be_written_is_found_at_once(tmp_path: Path) -> None:
    """Not at the first refusal, hours later."""
    for path in (tmp_path, tmp_path / "no" / "rejects.jsonl"):
        with pytest.raises(SettingsError, match="name another file"):
            RejectsFile(path)


def test_the_documented_lines_are_what_they_are_said_to_be(read: Read) -> None:
    """Each line that docs/formats.md shows is refused again for the reason that stands in it."""
    text = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    shown = [json.loads(line) for line in text.splitlines() if line.startswith("    {")]
    _, errors = read(lines(*shown), "rejects.jsonl")
    assert [error.reason for error in errors] == [line["_rejected"]["reason"] for line in shown]
    assert len(shown) == 2
