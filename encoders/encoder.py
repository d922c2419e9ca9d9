"""Encoder: papers and queries to vectors, with one bundle on one device."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from sciret.encoded import EncodedPaper, EncodedQuery, Vector
from sciret.encoders.batching import PLANS, SPARSE_PLANS, Item, batches, content, no_content, padded
from sciret.encoders.bundle import ROLES, Bundle, load_bundle
from sciret.encoders.features import load_features
from sciret.encoders.learned import BETA
from sciret.encoders.session import Session, open_session
from sciret.encoders.text import Ints, ModelInput, TextReader
from sciret.paper import Paper

if TYPE_CHECKING:
    from sciret.encoders.roles import RoleClassifier


class Encoder:
    """Open it once and keep it: loading costs more than encoding a query."""

    def __init__(self, bundle: Bundle, session: Session) -> None:
        self._bundle = bundle
        self._session = session
        self._reader = TextReader(bundle)
        self._features = load_features(bundle, self._reader.vocabulary, session.widths)
        self._roles = _load_roles(bundle)

    @classmethod
    def open(cls, bundle: str, *, device: str = "auto", threads: int = 0) -> Encoder:
        """A shipped bundle by name, or any by its folder. Threads are those of the CPU; 0 means one per core."""
        loaded = load_bundle(bundle)
        return cls(loaded, open_session(loaded, device, threads))

    @property
    def model(self) -> str:
        """Fingerprint that stores remember: vectors of two models must never meet."""
        return self._bundle.fingerprint

    @property
    def bundle(self) -> Bundle:
        return self._bundle

    @property
    def beta(self) -> float:
        """What a keyphrase counts beside a token."""
        return self._features.beta if self._features else BETA

    @property
    def device(self) -> str:
        """What is really used, `cpu` or `cuda`."""
        return self._session.device

    def encode_papers(self, papers: Iterable[Paper]) -> Iterator[EncodedPaper]:
        """In the order given. Papers are taken from the iterable only a bounded number ahead of what is yielded."""
        items = (Item(place, paper, self._reader.read_paper(paper)) for place, paper in enumerate(papers))
        waiting: dict[int, EncodedPaper] = {}  # encoded before papers that come earlier
        place = 0
        plan = (SPARSE_PLANS if self._features else PLANS)[self._session.precision]
        for batch in self._encoded(batches(items, plan)):
            waiting.update(batch)
            while place in waiting:
                yield waiting.pop(place)
                place += 1

    def encode_query(self, text: str) -> EncodedQuery:
        """The prefix that a bundle asks for is for the document vector; sentence vectors were measured better without,
        and a sparse vector is of the query's own words.

        A text longer than the model reads is cut off, without notice: queries that long are pasted abstracts.
        """
        features, plain = self._features, self._reader.read_query(text)
        sparse = features is not None and features.encoded
        rows = self._run([plain], sparse)[0] if sparse or self._bundle.has_vectors else {}
        dense = rows.get("dense")
        if dense is not None and self._bundle.query_prefix:
            prefixed = self._reader.read_query(text, self._bundle.query_prefix)
            dense = self._run([prefixed], sparse=False)[0]["dense"]
        tokens, keyphrases = features.of_query(plain, rows) if features else ({}, {})
        return EncodedQuery(
            text=" ".join(plain.sentences),
            model=self.model,
            dense=dense,
            sentences=plain.sentences,
            sentence_vectors=_sentences(plain, rows),
            tokens=tokens,
            keyphrases=keyphrases,
            beta=self.beta,
        )

    def _encoded(self, groups: Iterator[Sequence[Item]]) -> Iterator[dict[int, EncodedPaper]]:
        """A thread per core, each with a batch of its own: onnxruntime releases the interpreter while it computes."""
        workers = self._session.threads if self.device == "cpu" else 1
        pool = ThreadPoolExecutor(workers, thread_name_prefix="sciret-encoder")
        pending: deque[Future[dict[int, EncodedPaper]]] = deque()
        try:
            for group in groups:
                pending.append(pool.submit(self._encode, group))
                if len(pending) > 2 * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _encode(self, items: Sequence[Item]) -> dict[int, EncodedPaper]:
        rows = self._run([item.input for item in items], sparse=True)
        return {item.place: self._paper(item, row) for item, row in zip(items, rows, strict=True)}

    def _paper(self, item: Item, rows: Mapping[str, Vector]) -> EncodedPaper:
        vectors = _sentences(item.input, rows)
        tokens, keyphrases = self._features.of_paper(rows) if self._features else ({}, {})
        return EncodedPaper(
            paper=item.paper,
            model=self.model,
            dense=rows.get("dense"),
            sentences=item.input.sentences,
            roles=self._roles.predict(vectors) if self._roles and vectors is not None else (),
            sentence_vectors=vectors,
            tokens=tokens,
            keyphrases=keyphrases,
            truncated=item.input.truncated,
        )

    def _run(self, texts: Sequence[ModelInput], sparse: bool) -> list[dict[str, Vector]]:
        """The graph's outputs for each text: [d], [R, d], [V], [K]."""
        inputs: dict[str, Ints] = padded(texts)
        if self._features:
            inputs["content"] = content(texts, self._features.weighs) if sparse else no_content(len(texts))
        found = self._session.run(inputs)
        return [{name: found[name][row] for name in found} for row in range(len(texts))]


def _sentences(text: ModelInput, rows: Mapping[str, Vector]) -> Vector | None:
    return rows["sentences"][text.rows] if "sentences" in rows else None  # [S, d]


def _load_roles(bundle: Bundle) -> RoleClassifier | None:
    if ROLES not in bundle.files:
        return None
    from sciret.encoders.roles import RoleClassifier

    return RoleClassifier.load(bundle.path(ROLES))
