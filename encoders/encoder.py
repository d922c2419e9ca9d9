"""Encoder: papers and queries to vectors, with one bundle on one device."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from sciret.encoded import EncodedPaper, EncodedQuery, Vector
from sciret.encoders.batching import PLANS, Item, batches, padded
from sciret.encoders.bundle import ROLES, Bundle, load_bundle
from sciret.encoders.session import Session, open_session
from sciret.encoders.text import ModelInput, TextReader
from sciret.paper import Paper

if TYPE_CHECKING:
    from sciret.encoders.roles import RoleClassifier


class Encoder:
    """Open it once and keep it: loading costs more than encoding a query."""

    def __init__(self, bundle: Bundle, session: Session) -> None:
        self._bundle = bundle
        self._session = session
        self._reader = TextReader(bundle)
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
    def device(self) -> str:
        """What is really used, `cpu` or `cuda`."""
        return self._session.device

    def encode_papers(self, papers: Iterable[Paper]) -> Iterator[EncodedPaper]:
        """In the order given. Papers are taken from the iterable only a bounded number ahead of what is yielded."""
        items = (Item(place, paper, self._reader.read_paper(paper)) for place, paper in enumerate(papers))
        waiting: dict[int, EncodedPaper] = {}  # encoded before papers that come earlier
        place = 0
        for batch in self._encoded(batches(items, PLANS[self._session.precision])):
            waiting.update(batch)
            while place in waiting:
                yield waiting.pop(place)
                place += 1

    def encode_query(self, text: str) -> EncodedQuery:
        """The prefix that a bundle asks for is for the document vector; sentence vectors were measured better without.

        A text longer than the model reads is cut off, without notice: queries that long are pasted abstracts.
        """
        plain = self._reader.read_query(text)
        dense, sentences = self._vectors(plain)
        if self._bundle.query_prefix:
            dense, _ = self._vectors(self._reader.read_query(text, self._bundle.query_prefix))
        return EncodedQuery(
            text=" ".join(plain.sentences),
            model=self.model,
            dense=dense,
            sentences=plain.sentences,
            sentence_vectors=sentences,
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
        dense, sentences = self._session.run(padded([item.input for item in items]))  # [B, d], [B, R, d]
        return {item.place: self._paper(item, *rows) for item, *rows in zip(items, dense, sentences, strict=True)}

    def _paper(self, item: Item, dense: Vector, sentences: Vector) -> EncodedPaper:
        vectors = sentences[item.input.rows]  # [S, d]
        return EncodedPaper(
            paper=item.paper,
            model=self.model,
            dense=dense,
            sentences=item.input.sentences,
            roles=self._roles.predict(vectors) if self._roles else (),
            sentence_vectors=vectors,
            truncated=item.input.truncated,
        )

    def _vectors(self, text: ModelInput) -> tuple[Vector, Vector]:
        dense, sentences = self._session.run(padded([text]))
        return dense[0], sentences[0][text.rows]  # [d], [S, d]


def _load_roles(bundle: Bundle) -> RoleClassifier | None:
    if ROLES not in bundle.files:
        return None
    from sciret.encoders.roles import RoleClassifier

    return RoleClassifier.load(bundle.path(ROLES))
