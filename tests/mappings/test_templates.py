"""Templates: everything a document has is mapped, once and on purpose, and the options come out in the right place."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from sciret.connector.address import Address
from sciret.connector.client import connect
from sciret.connector.documents import to_document
from sciret.connector.failures import RefusedRequestError
from sciret.connector.indices import create_index, index_name
from sciret.encoded import EncodedPaper
from sciret.errors import SettingsError
from sciret.mappings.options import IndexOptions
from sciret.mappings.templates import (
    component_names,
    component_templates,
    index_body,
    index_meta,
    index_template,
    vector_fields,
)
from sciret.paper import Paper
from sciret.store import LISTS, TEXTS

OPTIONS = IndexOptions(replicas=0)
WHOLE = EncodedPaper(
    Paper(
        "p",
        "Title",
        "One. Two.",
        sentences=("One.", "Two."),
        **{name: (name,) for name in LISTS},  # type: ignore[arg-type]
        year=2001,
        date="2001-02",
        embargo_end="2001-02-03",
        access="embargoed",
        deleted=True,
        extra={"a": 1},
        **{name: name for name in ("venue", "doi", "url", "language", "type", "source")},  # type: ignore[arg-type]
    ),
    "m",
    np.ones(4, np.float32),
    ("One.", "Two."),
    ("method", "result"),
    np.ones((2, 4), np.float32),
    {"token": 1.0},
    {"key phrase": 2.0},
    True,
)
"""A paper that has everything."""


def document(*, nested: bool = True) -> dict[str, Any]:
    return to_document(WHOLE, nested=nested, beta=0.25, now=datetime(2024, 1, 1, tzinfo=UTC))


def composed(options: IndexOptions, dims: int | None) -> dict[str, Any]:
    """The properties of an index, as OpenSearch lays the components over one another."""
    properties: dict[str, Any] = {}
    components = component_templates()
    for name in component_names(options):
        properties |= components[name]["template"].get("mappings", {}).get("properties", {})
    for name, field in vector_fields(options, dims).items():
        nested = {**properties.get(name, {}).get("properties", {}), **field.get("properties", {})}
        properties[name] = {**field, "properties": nested} if nested else field
    return properties


def test_every_field_of_a_document_is_mapped() -> None:
    """Also within objects; `dynamic: strict` would refuse the rest."""
    properties = composed(OPTIONS, 4)
    written = document()
    assert set(written) <= set(properties)
    assert set(written["facets"]) == set(properties["facets"]["properties"])
    assert all(set(sentence) == set(properties["sentences"]["properties"]) for sentence in written["sentences"])


def test_every_mapped_field_is_written() -> None:
    """None is left over from another time."""
    assert set(composed(OPTIONS, 4)) == set(document())


def test_every_field_of_a_paper_has_its_place() -> None:
    kept = set(composed(OPTIONS, 4))
    assert {field.name for field in fields(Paper)} - kept == {"deleted"}  # under `given`, as its sentences are
    assert set(composed(OPTIONS, 4)["facets"]["properties"]) == {*TEXTS, *LISTS}


def test_without_nested_sentences_their_texts_and_vectors_remain() -> None:
    """Reranking needs no nested documents."""
    options = IndexOptions(sentences=False)
    assert "sciret-sentences" not in component_names(options)
    assert "sentences" not in composed(options, 4)
    written = document(nested=False)
    assert "sentences" not in written
    assert written["sentence_texts"] == ["One.", "Two."]
    assert "vectors" in written


def test_vectors_wait_for_their_length() -> None:
    assert vector_fields(OPTIONS, None) == {}
    assert vector_fields(OPTIONS, 384)["dense"]["dimension"] == 384


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (IndexOptions(), {"m": 16, "ef_construction": 128}),
        (IndexOptions(m=8, ef_construction=64), {"m": 8, "ef_construction": 64}),
        (IndexOptions(quantization="byte"), {"encoder": {"name": "sq", "parameters": {"bits": 7}}}),
        (IndexOptions("faiss", quantization="fp16"), {"encoder": {"name": "sq", "parameters": {"type": "fp16"}}}),
        (IndexOptions("faiss", quantization="binary"), {"encoder": {"name": "binary", "parameters": {"bits": 1}}}),
    ],
)
def test_options_shape_the_graphs(options: IndexOptions, parameters: dict[str, Any]) -> None:
    """The engine is always named: its default differs from one version to the next."""
    found = vector_fields(options, 4)
    for field in (found["dense"], found["sentences"]["properties"]["vector"]):
        assert field["method"]["engine"] == options.engine
        assert field["method"]["space_type"] == "innerproduct"
        assert parameters.items() <= field["method"]["parameters"].items()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"engine": "nmslib"}, "no engine 'nmslib'"),
        ({"quantization": "fp16"}, "lucene has no quantization 'fp16'"),
        ({"engine": "faiss", "quantization": "byte"}, "faiss has no quantization 'byte'"),
        ({"m": 1}, "m is 1"),
        ({"shards": 0}, "shards is 0"),
        ({"replicas": -1}, "replicas is -1"),
    ],
)
def test_options_that_make_no_index_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        IndexOptions(**wrong)


def test_an_index_knows_its_options() -> None:
    """Those of a later version that we do not know are passed over."""
    options = IndexOptions("faiss", 24, 200, 3, 2, "fp16", sentences=False)
    meta = json.loads(json.dumps(index_meta(options, model="m", dims=4)))
    assert IndexOptions.from_dict({**meta["options"], "flavour": "sweet"}) == options
    assert (meta["schema"], meta["model"], meta["dims"], meta["sentences"]) == (1, "m", 4, False)


def test_a_longer_alias_has_the_higher_priority() -> None:
    """`papers-0*` is a pattern of `papers-01-000001` too, and OpenSearch refuses two of the same priority."""
    meta = index_meta(OPTIONS, model=None, dims=None)
    short, long = (index_template(name, OPTIONS, meta, derives=True) for name in ("papers", "papers-01"))
    assert short["priority"] < long["priority"]
    assert short["index_patterns"] == ["papers-0*"]
    assert short["composed_of"] == [
        f"sciret-{name}" for name in ("settings", "bibliography", "features", "vectors", "sentences")
    ]


def test_a_server_that_keeps_vectors_in_documents_is_told_not_to() -> None:
    meta = index_meta(OPTIONS, model="m", dims=4)
    assert "_source" not in index_body(OPTIONS, meta, derives=True)["mappings"]
    left_out = index_body(OPTIONS, meta, derives=False)["mappings"]["_source"]["excludes"]
    assert left_out == ["dense", "sentences.vector"]


@pytest.mark.parametrize("server", ["opensearch", "opensearch_2"])
@pytest.mark.parametrize(
    "options",
    [OPTIONS, IndexOptions(replicas=0, sentences=False), IndexOptions(replicas=0, quantization="byte", m=8)],
    ids=["default", "no sentences", "byte"],
)
def test_a_server_makes_an_index_of_it(
    request: pytest.FixtureRequest, unique_name: Callable[[], str], server: str, options: IndexOptions
) -> None:
    """It takes a whole paper, and nothing that is not mapped."""
    alias = unique_name()
    client = connect(Address.parse(f"{request.getfixturevalue(server).url}/{alias}"))
    meta = index_meta(options, model="m", dims=4)
    create_index(client, index_name(alias, 1), options, meta, alias=alias)
    mapping = client.call("GET", f"/{alias}/_mapping")[f"{alias}-000001"]["mappings"]
    assert mapping["dynamic"] == "strict"
    assert mapping["_meta"] == {"sciret": meta}
    assert set(mapping["properties"]) == set(composed(options, 4))
    written = document(nested=options.sentences)
    assert client.call("PUT", f"/{alias}/_doc/p", written)["result"] == "created"
    for unknown in ({"colour": "red"}, {"facets": {"colour": "red"}}):
        with pytest.raises(RefusedRequestError, match="colour"):
            client.call("PUT", f"/{alias}/_doc/q", {**written, **unknown})
    with pytest.raises(RefusedRequestError) as caught:
        create_index(client, index_name(alias, 1), options, meta, alias=alias)
    assert caught.value.kind == "resource_already_exists_exception"
    client.close()
