"""The fields of sciret inside an index that somebody else made: one object, named `sciret`, and nothing beside it.

Analyzers, similarities and `index.knn` are settings that an index has from its beginning or never. So what needs one of
ours is left out here, or done by what every index has.
"""

from __future__ import annotations

from typing import Any

from sciret.mappings.options import IndexOptions
from sciret.mappings.templates import component_templates, vector_fields

OBJECT = "sciret"
_WORDS = {"type": "text", "analyzer": "whitespace", "index_options": "freqs", "similarity": "BM25"}
_TEXT = {"type": "text", "index": False}
"""The existing index has titles and abstracts of its own to search in; these are kept to be shown."""


def in_place_fields(options: IndexOptions, dims: int | None, *, knn: bool) -> dict[str, Any]:
    """For a request that adds to a mapping. Vectors in an index without `index.knn` can be compared one by one."""
    components = component_templates()
    fields: dict[str, Any] = {}
    for name in ("bibliography", "features", "vectors"):
        fields |= components[f"sciret-{name}"]["template"]["mappings"]["properties"]
    fields |= {"title": _TEXT, "abstract": _TEXT, "words": _WORDS}
    if dims is not None:
        fields |= vector_fields(options, dims) if knn else {"dense": {"type": "knn_vector", "dimension": dims}}
    return {OBJECT: {"type": "object", "dynamic": "strict", "properties": fields}}
