"""Answers as servers and proxies give them, and what is made of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sciret.connector.bulk_answer import Item, read_answer, reasons


def _answer(*items: dict[str, Any]) -> str:
    return json.dumps({"errors": True, "items": [{"index": item} for item in items]})


def test_each_document_has_its_own_verdict() -> None:
    """In the order of the request."""
    mapping = {
        "type": "mapper_parsing_exception",
        "reason": "failed to parse field [year]",
        "caused_by": {"type": "number_format_exception", "reason": 'For input string: "x"'},
    }
    busy = {"type": "rejected_execution_exception", "reason": "queue full"}
    text = _answer({"status": 201}, {"status": 400, "error": mapping}, {"status": 429, "error": busy}, {"status": 403})
    answer = read_answer(200, {}, text, 4)
    assert answer.verdict == "items"
    assert [item.acknowledged for item in answer.items] == [True, False, False, False]
    assert [item.again for item in answer.items] == [False, False, True, False]
    assert [item.refused for item in answer.items] == [False, True, False, False]
    assert answer.items[1].reason == (
        'mapper_parsing_exception: failed to parse field [year] <- number_format_exception: For input string: "x"'
    )
    assert reasons(answer.items) == "HTTP 429: rejected_execution_exception: queue full"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_passes_is_sent_again(status: int) -> None:
    """With the wait that the server asks for, however the header is written."""
    answer = read_answer(status, {"Retry-After": "3"}, "<html>busy</html>", 2)
    assert (answer.verdict, answer.status, answer.retry_after) == ("again", status, 3)
    assert answer.reason == f"HTTP {status}: <html>busy</html>"


@pytest.mark.parametrize("status", [400, 413])
def test_what_is_too_much_or_spoilt_by_one_is_split(status: int) -> None:
    """Down to the document that is to blame."""
    assert read_answer(status, {}, "", 2).verdict == "split"


@pytest.mark.parametrize("status", [301, 401, 403, 404, 405, 500])
def test_what_will_not_pass_ends_the_write(status: int) -> None:
    """It says nothing about the documents, so none of them is refused for it."""
    answer = read_answer(status, {}, json.dumps({"error": {"type": "security_exception", "reason": "no"}}), 2)
    assert (answer.verdict, answer.reason) == ("stop", f"HTTP {status}: security_exception: no")


@pytest.mark.parametrize(
    "text",
    ['{"items":[{"index":{"status":2', "", "<html>log in</html>", "[]", '{"items":[{}]}', '{"items":[{"index":{}}]}'],
)
def test_an_answer_that_cannot_be_read_is_none(text: str) -> None:
    """A proxy cut it off, or answered in the server's place."""
    answer = read_answer(200, {}, text, 1)
    assert (answer.verdict, answer.status) == ("again", None)


def test_an_answer_about_fewer_documents_is_none() -> None:
    """Which of them it leaves out cannot be known."""
    answer = read_answer(200, {}, _answer({"status": 201}), 2)
    assert answer.verdict == "again"
    assert "1 of 2" in answer.reason


@pytest.mark.parametrize(("status", "refused"), [(400, True), (409, True), (500, True), (401, False), (404, False)])
def test_only_what_speaks_of_the_document_refuses_it(status: int, refused: bool) -> None:
    """A missing index is no reason to put a paper among the rejects."""
    assert Item(status).refused is refused


def test_nothing_to_delete_is_no_failure() -> None:
    """A missing index is one, though its status is the same."""
    missing = {"status": 404, "error": {"type": "index_not_found_exception", "reason": "no such index [papers]"}}
    answer = read_answer(200, {}, _answer({"status": 404, "result": "not_found"}, missing), 2)
    assert [item.absent for item in answer.items] == [True, False]


def test_nothing_to_update_is_no_failure() -> None:
    """A document may be deleted between reading and writing; the server calls that an error."""
    missing = {"status": 404, "error": {"type": "document_missing_exception", "reason": "[d7]: document missing"}}
    (item,) = read_answer(200, {}, _answer(missing), 1).items
    assert item.absent
