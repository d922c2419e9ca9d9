"""The JSON files of this room as component templates, and the index template that is composed of them.

What all indices of sciret have in common is in the components. What differs from one index to the next (length and
engine of the vectors, shards, replicas, `_meta`) is in its index template and in the request that makes it.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from sciret.mappings.options import IndexOptions

SCHEMA = 1
"""Of documents and mappings. An index of a newer one is not touched."""
VERSION = 1
"""Of the component templates: raised with every change of the JSON files, so that a cluster gets the new ones."""
COMPONENTS = ("settings", "bibliography", "features", "vectors", "sentences")
_PRIORITY = 500
_ENCODERS = {
    "byte": {"name": "sq", "parameters": {"bits": 7}},
    "fp16": {"name": "sq", "parameters": {"type": "fp16"}},
    "binary": {"name": "binary", "parameters": {"bits": 1}},
}


def component_names(options: IndexOptions) -> list[str]:
    """In the order in which they are laid over one another."""
    return [f"sciret-{name}" for name in COMPONENTS if name != "sentences" or options.sentences]


def component_templates() -> dict[str, dict[str, Any]]:
    """Every component template by its name on the cluster.

    OpenSearch checks each by itself: one that names an analyzer or a similarity must bring it along.
    """
    settings = _file("settings")["template"]["settings"]["index"]
    named = {"index": {"analysis": settings["analysis"], "similarity": settings["similarity"]}}
    found = {}
    for name in COMPONENTS:
        template = {"settings": named, **_file(name)["template"]}
        found[f"sciret-{name}"] = {"template": template, "version": VERSION, "_meta": {"made_by": "sciret"}}
    return found


def _file(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((files("sciret.mappings") / f"{name}.json").read_text(encoding="utf-8"))
    return content


def index_template(alias: str, options: IndexOptions, meta: dict[str, Any], *, derives: bool) -> dict[str, Any]:
    """For every version behind an alias: `papers-000001`, but not `papers-archive`, which may be somebody else's."""
    return {
        "index_patterns": [f"{alias}-0*"],
        "priority": _PRIORITY + len(alias),
        "composed_of": component_names(options),
        "template": index_body(options, meta, derives=derives),
        "version": VERSION,
        "_meta": {"made_by": "sciret"},
    }


def index_body(options: IndexOptions, meta: dict[str, Any], *, derives: bool) -> dict[str, Any]:
    """What an index has of its own.

    `derives`: the server keeps no vectors in `_source` and takes them from their graph when it is asked for them, as
    OpenSearch 3 does. Otherwise they are left out of it here. That is the worse way, since a copy of the whole document
    is kept for recovery then, which doubles the size on disk and the time to fetch a record (benchmarks/records.py).
    """
    mappings = {"_meta": {"sciret": meta}, "properties": vector_fields(options, meta.get("dims"))}
    if not derives:
        mappings["_source"] = {"excludes": ["dense", "sentences.vector"]}
    return {
        "settings": {"index": {"number_of_shards": options.shards, "number_of_replicas": options.replicas}},
        "mappings": mappings,
    }


def vector_fields(options: IndexOptions, dims: int | None) -> dict[str, Any]:
    """The fields that kNN searches, once the length of the vectors is known."""
    if dims is None:
        return {}
    found: dict[str, Any] = {"dense": _knn_vector(options, dims)}
    if options.sentences:
        found["sentences"] = {"type": "nested", "properties": {"vector": _knn_vector(options, dims)}}
    return found


def _knn_vector(options: IndexOptions, dims: int) -> dict[str, Any]:
    parameters: dict[str, Any] = {"m": options.m, "ef_construction": options.ef_construction}
    if options.quantization != "none":
        parameters["encoder"] = _ENCODERS[options.quantization]
    method = {"name": "hnsw", "engine": options.engine, "space_type": "innerproduct", "parameters": parameters}
    return {"type": "knn_vector", "dimension": dims, "method": method}


def index_meta(
    options: IndexOptions,
    *,
    model: str | None,
    dims: int | None,
    model_name: str | None = None,
    beta: float = 0.25,
    lambda_: float = 0.65,
) -> dict[str, Any]:
    """What an index says of itself under `_meta.sciret`."""
    return {
        "schema": SCHEMA,
        "model": model,
        "model_name": model_name,
        "dims": dims,
        "beta": beta,
        "lambda": lambda_,
        "sentences": options.sentences,
        "options": options.to_dict(),
    }
