"""A raw record, from whatever format, to a Paper: the only place where records are validated and normalised."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sciret.errors import RecordError
from sciret.paper import Access, Paper
from sciret.sources import fields as read
from sciret.sources.fields import FieldError
from sciret.sources.limits import ABSTRACT_CHARS, EXTRA_CHARS, ID_CHARS, INTEGERS, TEXT_CHARS
from sciret.sources.rejects import refuse

FIELDS = tuple(f.name for f in fields(Paper))
ALIASES: Mapping[str, str] = {
    "author": "authors",
    "keyphrases": "keywords",
    "journal": "venue",
    "subjects": "collections",
    "categories": "collections",
}
_TEXTS = ("venue", "url", "language", "type", "source")


@dataclass(frozen=True, slots=True)
class Record:
    """What a format's reader found: fields by JSON Lines' names, values still as they came."""

    where: str
    fields: Mapping[str, Any]
    duplicate_of: str | None = None
    """The id for which this record was refused as a duplicate in an earlier run."""


def paper_from_record(record: Record, *, title_from_abstract: bool = False) -> Paper | RecordError:
    try:
        return _paper(*_sorted(record.fields), title_from_abstract)
    except FieldError as error:
        return refuse(record.where, str(error), record.fields)


def _sorted(record: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields that a Paper has, and the others. An alias counts only where its own name is not given."""
    known: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in record.items():
        if name in FIELDS:
            if value is not None:
                known[name] = value
        elif name in ALIASES and record.get(ALIASES[name]) is None and ALIASES[name] not in known:
            known[ALIASES[name]] = value
        else:
            others[name] = value
    return known, others


def _paper(known: Mapping[str, Any], others: dict[str, Any], title_from_abstract: bool) -> Paper:
    abstract, sentences = _abstract(known)
    deleted = read.flag("deleted", known.get("deleted", False))
    date = read.date("date", known["date"]) if "date" in known else None
    year = read.year(known["year"]) if "year" in known else None
    embargo_end = read.date("embargo_end", known["embargo_end"], whole=True) if "embargo_end" in known else None
    return Paper(
        id=_id(known),
        title=_title(known, abstract, sentences, title_from_abstract, deleted),
        abstract=abstract,
        sentences=sentences,
        authors=read.authors(known.get("authors", ())),
        year=int(date[:4]) if date and year is None else year,
        date=date,
        keywords=read.keywords(known.get("keywords", ())),
        doi=read.doi(known["doi"]) if "doi" in known else None,
        collections=read.texts("collections", known.get("collections", ())),
        access=_access(known, embargo_end),
        embargo_end=embargo_end,
        deleted=deleted,
        references=read.references(known.get("references", ())),
        extra=_extra(others, known.get("extra", {})),
        **{name: read.text(name, known[name]) or None for name in _TEXTS if name in known},
    )


def _access(known: Mapping[str, Any], embargo_end: str | None) -> Access:
    given = known.get("access", "")
    if given == "":  # a record that names an embargo and no access is not open before it ends
        return "embargoed" if embargo_end else "open"
    return read.access(given)


def _id(known: Mapping[str, Any]) -> str:
    found = read.identifier("id", known.get("id", ""), ID_CHARS)
    if not read.visible(found):
        raise FieldError("id is empty; give every record one" if "id" in known else "id is missing; give it one")
    return found


def _title(
    known: Mapping[str, Any], abstract: str, sentences: tuple[str, ...], title_from_abstract: bool, deleted: bool
) -> str:
    title = read.text("title", known.get("title", ""))
    if read.visible(title):
        return title
    if deleted:  # tombstones carry an id and little else
        return ""
    if not read.visible(abstract):
        raise FieldError(f"title is {'empty' if 'title' in known else 'missing'}; give it one")
    if title_from_abstract:
        return read.text("title", sentences[0] if sentences else _first_sentence(abstract))
    raise FieldError(
        "title is empty but there is an abstract; give it a title, or take the abstract's first sentence "
        "(--title-from-abstract)"
    )


def _first_sentence(abstract: str) -> str:
    from nupunkt import sent_tokenize  # here, since it takes 0.1 s to import and few runs need it

    # Twice the limit: a first sentence that is longer than a title may be is refused as such, not cut.
    return str(sent_tokenize(abstract[: 2 * TEXT_CHARS])[0])


def _abstract(known: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The abstract as one text, and its sentences where the source gave them."""
    given = known.get("abstract", "")
    if isinstance(given, list):
        sentences = _sentences("abstract", given)
    else:
        sentences = _sentences("sentences", known.get("sentences", []))
    joined = " ".join(sentences)
    if len(joined) > ABSTRACT_CHARS:
        raise FieldError(f"abstract has {len(joined):,} characters, the limit is {ABSTRACT_CHARS:,}; shorten it")
    if isinstance(given, list):
        return joined, sentences
    abstract = read.text("abstract", given, ABSTRACT_CHARS)
    if abstract and sentences and abstract != joined:
        raise FieldError("abstract and sentences are not the same text; give one of them")
    return abstract or joined, sentences


def _sentences(name: str, value: Any) -> tuple[str, ...]:
    cleaned = (read.text(f"{name}[{i}]", s, ABSTRACT_CHARS) for i, s in enumerate(read.items(name, value)))
    return tuple(sentence for sentence in cleaned if sentence)


def _extra(others: dict[str, Any], given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise FieldError(f"extra must be an object, not {read.kind(given)}")
    extra = {**others, **given}
    if extra:
        _check_json(extra)
        size = len(json.dumps(extra, ensure_ascii=False))
        if size > EXTRA_CHARS:
            limit = f"{size:,} characters as JSON, the limit is {EXTRA_CHARS:,}"
            raise FieldError(f"the fields that sciret does not know ({', '.join(list(extra)[:5])}) have {limit}")
    return extra


def _check_json(extra: Mapping[str, Any]) -> None:
    """Values stay as they are, so they must be such that any store can keep them and JSON can carry them."""
    for name, value in extra.items():
        read.check_characters("a field's name", name)
        waiting = [value]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                read.check_characters(name, item)
            elif isinstance(item, list | tuple):
                waiting.extend(item)
            elif isinstance(item, Mapping):
                waiting.extend(item)
                waiting.extend(item.values())
            elif type(item) is int and item not in INTEGERS:
                raise FieldError(f"{name} holds a number beyond 64 bits; write it as text")
