"""An index as somebody else would have made it, and an encoder that takes no time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import numpy as np

from sciret.connector.address import Address
from sciret.connector.client import Client, connect
from sciret.encoded import EncodedPaper
from sciret.paper import Paper

PROPERTIES = {
    "bib": {"properties": {"titel": {"type": "text"}}},
    "kurz": {"type": "text"},
    "shelf": {"type": "keyword"},
    "updated_at": {"type": "date"},
    "revision": {"type": "long"},
}


class Library:
    """One index of another application."""

    def __init__(self, url: str, name: str, *, shards: int = 2, knn: bool = False) -> None:
        self.name = name
        self.client: Client = connect(Address.parse(f"{url}/{name}"))
        settings = {"number_of_shards": shards, "number_of_replicas": 0, "index.knn": knn}
        mappings = {"dynamic": "strict", "_meta": {"owner": "library"}, "properties": PROPERTIES}
        self.client.call("PUT", f"/{name}", {"settings": settings, "mappings": mappings})

    @property
    def address(self) -> str:
        return str(self.client.address)

    def put(self, documents: Mapping[str, Mapping[str, Any]]) -> None:
        lines = [
            line
            for name, source in documents.items()
            for line in (json.dumps({"index": {"_id": name}}), json.dumps(source))
        ]
        body = "\n".join(lines) + "\n"
        answer = self.client.call("POST", f"/{self.name}/_bulk", body, params={"refresh": "true"})
        assert not answer["errors"], answer

    def remove(self, *ids: str) -> None:
        for each in ids:
            self.client.call("DELETE", f"/{self.name}/_doc/{quote(each, safe='')}", params={"refresh": "true"})

    def close(self) -> None:
        """And remove it."""
        self.client.call("DELETE", f"/{self.name}")
        self.client.close()

    def ask(self, body: Mapping[str, Any]) -> Any:
        return self.client.call("POST", f"/{self.name}/_search", body)


def documents(numbers: Iterable[int], **fields: Any) -> dict[str, dict[str, Any]]:
    return {f"d{n}": {"bib": {"titel": f"Peat and moss {n}"}, "shelf": f"S{n % 3}", **fields} for n in numbers}


class QuickEncoder:
    """Vectors that are a hash of the title: the same text has the same one."""

    model = "c" * 64

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode_papers(self, papers: Iterable[Paper]) -> Iterator[EncodedPaper]:
        for paper in papers:
            self.encoded.append(paper.id)
            digest = hashlib.sha256(paper.title.encode()).digest()
            vector = np.frombuffer(digest, np.uint8)[:8].astype(np.float32)
            vector /= np.linalg.norm(vector)
            yield EncodedPaper(paper, self.model, vector, (paper.title,), (), vector[None])
