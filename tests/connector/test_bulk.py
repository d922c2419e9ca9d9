"""The bulk writer on a real server, directly and through a proxy that breaks things: nothing lost, nothing double."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import pytest
from fault_proxy import Fault, FaultProxy, Plan, cut_off, fault_proxy, refuse, reject_items, reset_after, reset_before
from fault_proxy import slow as slow_answer
from opensearchpy import OpenSearch

from sciret.connector.backoff import Patience
from sciret.connector.bulk import BulkWriter

QUICK = Patience(tries=8, seconds=20, first=0.01, longest=0.2, answer=2)
STRICT = {
    "settings": {"number_of_replicas": 0, "number_of_shards": 1, "refresh_interval": "-1"},
    "mappings": {"dynamic": "strict", "properties": {"title": {"type": "text"}, "year": {"type": "integer"}}},
}
Documents = list[tuple[str, dict[str, Any]]]


class Server(Protocol):
    @property
    def url(self) -> str: ...


@pytest.fixture
def client(opensearch: Server) -> Iterator[OpenSearch]:
    with _connect(opensearch.url) as connected:
        yield connected


@pytest.fixture
def index(client: OpenSearch, unique_name: Callable[[], str]) -> str:
    name = unique_name()
    client.indices.create(index=name, body=STRICT)
    return name


def _connect(url: str) -> OpenSearch:
    return OpenSearch(url, pool_maxsize=8)


def _documents(count: int, size: int = 100) -> Documents:
    return [(f"d{i}", {"title": f"{i} " + "x" * size, "year": 1900 + i % 100}) for i in range(count)]


def _stored(client: OpenSearch, index: str) -> dict[str, Mapping[str, Any]]:
    """Everything that a search finds, by its id; fails where an id is there twice."""
    client.indices.refresh(index=index)
    hits = client.search(index=index, body={"size": 10_000, "query": {"match_all": {}}})["hits"]["hits"]
    found = {hit["_id"]: hit["_source"] for hit in hits}
    assert len(found) == len(hits) == client.count(index=index)["count"]
    return found


def _every(nth: int, fault: Fault) -> Plan:
    return lambda number, _: fault if number % nth == 0 else None


def _first(count: int, fault: Fault) -> Plan:
    return lambda number, _: fault if number <= count else None


def test_every_document_is_acknowledged_and_there(client: OpenSearch, index: str) -> None:
    """From an iterator, in several chunks, by several threads."""
    documents = _documents(500)
    report = BulkWriter(client, index, chunk_bytes=5000).write(iter(documents))
    assert (report.acknowledged, report.failures) == (500, ())
    assert _stored(client, index) == dict(documents)


def test_nothing_is_nothing(client: OpenSearch, index: str) -> None:
    """No request is made for no documents."""
    report = BulkWriter(client, index).write([])
    assert (report.acknowledged, report.failures) == (0, ())


def test_refused_documents_are_named_and_their_neighbours_go_in(client: OpenSearch, index: str) -> None:
    """A value of the wrong type, a field that the mapping does not have, what JSON or UTF-8 cannot say."""
    documents = _documents(10)
    documents[2][1]["year"] = "long ago"
    documents[4][1]["colour"] = "red"
    documents[6][1]["title"] = "half a \ud83d character"
    documents[8][1]["year"] = float("nan")
    report = BulkWriter(client, index).write(documents)
    failures = {failure.id: failure for failure in report.failures}
    assert report.acknowledged == 6
    assert sorted(failures) == ["d2", "d4", "d6", "d8"]
    assert all(failure.refused for failure in failures.values())
    assert "mapper_parsing_exception" in failures["d2"].reason
    assert "long ago" in failures["d2"].reason
    assert "strict_dynamic_mapping_exception" in failures["d4"].reason
    assert "lone surrogate" in failures["d6"].reason
    assert "not finite" in failures["d8"].reason
    assert len(_stored(client, index)) == 6


def test_one_document_that_spoils_a_request_is_found(client: OpenSearch, index: str) -> None:
    """An id of more than 512 bytes has the server refuse the request as a whole."""
    documents = [*_documents(20), ("i" * 600, {"title": "too long a name"}), ("last", {"title": "last"})]
    report = BulkWriter(client, index).write(documents)
    (failure,) = report.failures
    assert (failure.id, failure.status, failure.refused) == ("i" * 600, 400, True)
    assert "512" in failure.reason
    assert report.acknowledged == len(_stored(client, index)) == 21


def test_of_documents_with_the_same_id_the_last_one_counts(client: OpenSearch, index: str) -> None:
    """Also when they would stand in different chunks, and when only the first of them is rejected at first."""
    versions: Documents = [(f"d{i % 5}", {"title": str(i)}) for i in range(40)]
    with _proxied(client, _every(3, reject_items(2))) as (proxied, _):
        report = BulkWriter(proxied, index, chunk_bytes=100, patience=QUICK).write(versions)
    assert report.acknowledged == 40
    assert {name: source["title"] for name, source in _stored(client, index).items()} == {
        f"d{i}": str(35 + i) for i in range(5)
    }


def test_a_document_larger_than_a_chunk_goes_alone(client: OpenSearch, index: str) -> None:
    """Chunks are made by bytes, and a document is never divided."""
    documents = _documents(5, size=3000)
    with _proxied(client, lambda *_: None) as (proxied, proxy):
        assert BulkWriter(proxied, index, chunk_bytes=2000).write(documents).acknowledged == 5
    assert len(proxy.sizes) == 5


def test_what_is_deleted_is_gone_and_what_was_not_there_is_counted_apart(client: OpenSearch, index: str) -> None:
    """Through faults too; a deletion whose answer was lost finds nothing the second time."""
    BulkWriter(client, index).write(_documents(60))
    ids = [*(f"d{i}" for i in range(50)), "never", "neither"]
    with _proxied(client, _every(2, refuse(503))) as (proxied, proxy):
        report = BulkWriter(proxied, index, chunk_bytes=300, patience=QUICK).delete(ids)
    assert proxy.faults
    assert (report.acknowledged, report.absent, report.failures) == (50, 2, ())
    assert sorted(_stored(client, index)) == [f"d{i}" for i in range(50, 60)]


def test_an_update_changes_what_is_there_and_makes_nothing(client: OpenSearch, index: str) -> None:
    """Through faults too: the rest of a document stays, and the others are counted apart."""
    BulkWriter(client, index).write(_documents(20))
    script = {"script": {"source": "ctx._source.year = params.year", "params": {"year": 7}}}
    ids = [*(f"d{i}" for i in range(10)), "never"]
    with _proxied(client, _every(2, reset_after)) as (proxied, proxy):
        report = BulkWriter(proxied, index, chunk_bytes=300, patience=QUICK).update((each, script) for each in ids)
    assert proxy.faults
    assert (report.acknowledged, report.absent, report.failures) == (10, 1, ())
    expected = {name: {**source, "year": 7} if name in ids else source for name, source in _documents(20)}
    assert _stored(client, index) == expected


def _proxied(client: OpenSearch, plan: Plan) -> _Proxied:
    return _Proxied(client.transport.hosts[0], plan)


class _Proxied:
    """A client whose bulk requests meet faults, and the proxy that makes them."""

    def __init__(self, host: Mapping[str, Any], plan: Plan) -> None:
        self._proxy = fault_proxy(f"http://{host['host']}:{host['port']}", plan)

    def __enter__(self) -> tuple[OpenSearch, FaultProxy]:
        proxy = self._proxy.__enter__()
        self._client = _connect(proxy.url)
        return self._client, proxy

    def __exit__(self, *error: Any) -> None:
        self._client.close()
        self._proxy.__exit__(*error)


FAULTS: dict[str, Plan] = {
    "429": _every(3, refuse(429)),
    "429 three times in a row": _first(3, refuse(429)),
    "502": _every(3, refuse(502)),
    "503": _every(3, refuse(503)),
    "504": _every(3, refuse(504)),
    "reset before": _every(3, reset_before),
    "reset after": _every(3, reset_after),
    "answer cut off": _every(3, cut_off),
    "items 429": _every(2, reject_items(3, 429)),
    "items 503": _every(2, reject_items(3, 503)),
    "all items 429": _first(2, reject_items(1, 429)),
    "no answer in time": lambda number, _: slow_answer(5) if number in (2, 5) else None,
    "slow": _every(2, slow_answer(0.2)),
}


@pytest.mark.parametrize("plan", FAULTS.values(), ids=FAULTS)
def test_nothing_is_lost_and_nothing_is_double(plan: Plan, client: OpenSearch, index: str) -> None:
    """Whatever happens between client and server, in bounded time."""
    documents = _documents(200)
    begun = time.monotonic()
    with _proxied(client, plan) as (proxied, proxy):
        report = BulkWriter(proxied, index, chunk_bytes=2500, patience=QUICK).write(iter(documents))
    assert (report.acknowledged, report.failures) == (200, ())
    assert proxy.faults
    assert _stored(client, index) == dict(documents)
    assert time.monotonic() - begun < 20


def test_everything_at_once(client: OpenSearch, index: str) -> None:
    """Every other request meets a fault, each another one than before; documents that are refused are still named."""
    faults = [refuse(429), reset_before, reject_items(2), refuse(503), reset_after, slow_answer(0.1), cut_off]
    documents = _documents(600)
    documents[300][1]["year"] = "never"

    def plan(number: int, body: bytes) -> Fault | None:
        if len(body) > 4000:
            return refuse(413)
        return faults[number // 2 % len(faults)] if number % 2 else None

    with _proxied(client, plan) as (proxied, proxy):
        report = BulkWriter(proxied, index, chunk_bytes=20_000, patience=QUICK).write(documents)
    assert [failure.id for failure in report.failures] == ["d300"]
    assert report.acknowledged == 599
    assert proxy.faults > 30
    stored = _stored(client, index)
    assert stored == {name: source for name, source in documents if name != "d300"}


def test_a_request_that_is_too_large_is_halved_and_later_ones_are_made_smaller(client: OpenSearch, index: str) -> None:
    """So that a limit is met a few times, not at every chunk."""
    limit = 3000
    documents = _documents(400)
    with _proxied(client, lambda _, body: refuse(413) if len(body) > limit else None) as (proxied, proxy):
        writer = BulkWriter(proxied, index, chunk_bytes=20_000, workers=2)
        report = writer.write(documents)
    assert (report.acknowledged, report.failures) == (400, ())
    assert writer.chunk_bytes <= limit
    refused = [number for number, size in enumerate(proxy.sizes) if size > limit]
    assert len(refused) <= 9  # three sizes too many, by two threads and the chunk that waits for them
    assert len(_stored(client, index)) == 400


@pytest.mark.parametrize("fault", [reset_before, slow_answer(3)], ids=["broken", "late"])
def test_a_request_that_is_too_large_without_a_word_is_halved_too(client: OpenSearch, index: str, fault: Fault) -> None:
    """Some proxies break the connection instead of saying 413, and a server may take longer than we wait."""
    impatient = replace(QUICK, answer=0.5)
    with _proxied(client, lambda _, body: fault if len(body) > 3000 else None) as (proxied, proxy):
        report = BulkWriter(proxied, index, chunk_bytes=10_000, patience=impatient).write(_documents(60))
    assert (report.acknowledged, report.failures) == (60, ())
    assert proxy.faults
    assert len(_stored(client, index)) == 60


def test_one_document_that_is_too_large_is_refused_by_name(client: OpenSearch, index: str) -> None:
    """Its neighbours go in, and chunks stay as large as they were for them."""
    documents = _documents(20)
    documents[7] = ("giant", {"title": "x" * 5000})
    with _proxied(client, lambda _, body: refuse(413) if len(body) > 4000 else None) as (proxied, _):
        writer = BulkWriter(proxied, index, chunk_bytes=1000)
        report = writer.write(documents)
    assert [(failure.id, failure.status, failure.refused) for failure in report.failures] == [("giant", 413, True)]
    assert report.acknowledged == len(_stored(client, index)) == 19
    assert writer.chunk_bytes == 1000


def test_a_server_that_stays_away_ends_the_write_in_bounded_time(client: OpenSearch, index: str) -> None:
    """Every document has a failure by name, none is refused for good, and what was not tried says so."""
    short = Patience(tries=50, seconds=1.5, first=0.05, longest=0.2, answer=1)
    begun = time.monotonic()
    with _proxied(client, lambda *_: refuse(503)) as (proxied, _):
        report = BulkWriter(proxied, index, chunk_bytes=500, patience=short).write(_documents(300))
    assert time.monotonic() - begun < 6
    assert report.acknowledged == 0
    assert {failure.id for failure in report.failures} == {name for name, _ in _documents(300)}
    assert not any(failure.refused for failure in report.failures)
    assert all("503" in failure.reason for failure in report.failures)


def test_a_server_that_is_not_there_ends_the_write_after_its_tries(index: str) -> None:
    """A refused connection is as much a failure as a bad answer."""
    with _connect("http://127.0.0.1:9") as nobody:
        report = BulkWriter(nobody, index, patience=Patience(tries=3, first=0.01)).write(_documents(3))
    assert [failure.status for failure in report.failures] == [None] * 3
    assert "refused" in report.failures[0].reason


def test_retry_after_is_honoured(client: OpenSearch, index: str) -> None:
    """The next request comes no earlier than the server asked for."""
    begun = time.monotonic()
    with _proxied(client, _first(1, refuse(429, Retry_After="1"))) as (proxied, _):
        report = BulkWriter(proxied, index, patience=QUICK).write(_documents(5))
    assert report.acknowledged == 5
    assert time.monotonic() - begun >= 1


def test_a_blocked_index_is_waited_for(client: OpenSearch, index: str) -> None:
    """A full disk blocks an index with 429 for each document; when there is room again, they go in."""
    _block(client, index, read_only_allow_delete=True)
    freed = threading.Timer(1, lambda: _block(client, index, read_only_allow_delete=None))
    freed.start()
    report = BulkWriter(client, index, patience=replace(QUICK, tries=100)).write(_documents(20))
    freed.join()
    assert (report.acknowledged, report.failures) == (20, ())
    assert len(_stored(client, index)) == 20


def _block(client: OpenSearch, index: str, **blocks: bool | None) -> None:
    client.indices.put_settings(index=index, body={"index.blocks": blocks})


def test_what_is_no_documents_fault_ends_the_write_and_refuses_none(client: OpenSearch, index: str) -> None:
    """An index that may not be written to says so for each document; none of them belongs among the rejects."""
    _block(client, index, write=True)
    report = BulkWriter(client, index, chunk_bytes=500).write(_documents(100))
    assert report.acknowledged == 0
    assert len(report.failures) == 100
    assert not any(failure.refused for failure in report.failures)
    assert "block" in report.failures[0].reason


def test_rejections_lower_the_concurrency_and_success_raises_it(client: OpenSearch, index: str) -> None:
    """What was learned is kept for the next write."""
    with _proxied(client, _first(4, refuse(429))) as (proxied, _):
        writer = BulkWriter(proxied, index, chunk_bytes=500, workers=4, patience=QUICK)
        assert writer.concurrency == 4
        writer.write(_documents(1))
        assert writer.concurrency == 2  # halved to one, and the success added one
        writer.write(_documents(100))
        assert writer.concurrency == 4


def test_documents_are_read_only_a_little_ahead(client: OpenSearch, index: str) -> None:
    """Memory does not grow with the number of documents."""
    read = 0
    ahead: list[int] = []

    def documents() -> Iterator[tuple[str, dict[str, Any]]]:
        nonlocal read
        for document in _documents(400):
            read += 1
            yield document

    def plan(_: int, body: bytes) -> Fault | None:
        sent.append(body.count(b"\n") // 2)
        ahead.append(read - sum(sent))
        return None

    sent: list[int] = []
    with _proxied(client, plan) as (proxied, _):
        assert BulkWriter(proxied, index, chunk_bytes=1500, workers=2).write(documents()).acknowledged == 400
    assert max(ahead) <= 4 * max(sent)


def test_somebody_without_time_ends_the_write_at_once(client: OpenSearch, index: str) -> None:
    """What is not written then is named as ever."""
    patient = Patience(first=60, longest=60)
    threading.Timer(0.5, patient.over.set).start()
    begun = time.monotonic()
    with _proxied(client, lambda *_: refuse(429)) as (proxied, _):
        report = BulkWriter(proxied, index, patience=patient).write(_documents(5))
    assert time.monotonic() - begun < 10
    assert [failure.id for failure in report.failures] == [f"d{i}" for i in range(5)]


def test_an_error_of_the_caller_ends_the_write_at_once(client: OpenSearch, index: str) -> None:
    """Threads that wait for a better moment do not hold it up."""

    def documents() -> Iterator[tuple[str, dict[str, Any]]]:
        yield from _documents(50)
        time.sleep(0.3)
        raise KeyError("a bug of the caller's")

    patient = Patience(first=60, longest=60)
    begun = time.monotonic()
    with _proxied(client, lambda *_: refuse(429)) as (proxied, _):
        writer = BulkWriter(proxied, index, chunk_bytes=2500, patience=patient)
        with pytest.raises(KeyError):
            writer.write(documents())
    assert time.monotonic() - begun < 10
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("bulk")]
