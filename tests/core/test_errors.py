"""The errors: exit codes that scripts can rely on, and messages that say what to do."""

from __future__ import annotations

import pytest

from sciret import errors
from sciret.errors import (
    BundleError,
    MissingExtraError,
    PapersRefusedError,
    QueryError,
    RecordError,
    SciretError,
    SettingsError,
    StoreError,
    WrongModelError,
)

EXIT_CODES = {
    SciretError: 1,
    SettingsError: 2,
    QueryError: 2,
    BundleError: 1,
    StoreError: 1,
    PapersRefusedError: 1,
    WrongModelError: 1,
    RecordError: 1,
    MissingExtraError: 1,
}


def test_every_error_is_listed_here() -> None:
    """And is a SciretError, which is what the command line catches."""
    defined = {each for each in vars(errors).values() if isinstance(each, type) and each.__module__ == errors.__name__}
    assert defined == set(EXIT_CODES)
    assert all(issubclass(each, SciretError) for each in defined)


@pytest.mark.parametrize(("kind", "code"), EXIT_CODES.items())
def test_wrong_usage_is_two_and_failure_is_one(kind: type[SciretError], code: int) -> None:
    assert kind.exit_code == code


def test_a_wrong_model_names_both_and_the_ways_out() -> None:
    """Fingerprints are shown short and kept whole."""
    error = WrongModelError("papers.db", "a" * 64, "b" * 64)
    assert isinstance(error, StoreError)
    assert str(error) == (
        "papers.db was filled by the model aaaaaaaaaaaa…, but this encoder is bbbbbbbbbbbb…. "
        "Use the model it was filled by (--model), or ingest into a new store with this one; on OpenSearch, "
        "`sciret index migrate` gives the store another model."
    )
    assert (error.stored, error.given) == ("a" * 64, "b" * 64)


def test_a_record_error_has_what_the_rejects_file_needs() -> None:
    error = RecordError("papers.jsonl:7", "the title is empty", '{"id": "p"}', "p")
    assert str(error) == "papers.jsonl:7: the title is empty"
    assert (error.where, error.reason, error.raw) == ("papers.jsonl:7", "the title is empty", '{"id": "p"}')
    assert error.record_id == "p"


def test_a_record_may_have_no_id_and_no_text() -> None:
    error = RecordError("stdin:1", "not UTF-8")
    assert (error.raw, error.record_id) == ("", None)


def test_a_missing_extra_gives_the_line_to_type() -> None:
    error = MissingExtraError("sciret export", "export")
    assert str(error) == "sciret export needs packages that are not installed: pip install 'sciret[export]'"
    assert error.extra == "export"
