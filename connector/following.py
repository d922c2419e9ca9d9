"""Pass: what is new in an index, as papers, and what to remember when they are settled."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace

from sciret.connector.attachment import Attachment
from sciret.connector.client import Client
from sciret.connector.existing import Existing
from sciret.connector.field_map import FieldMap
from sciret.connector.order import Order
from sciret.connector.reader import IndexReader
from sciret.errors import RecordError
from sciret.paper import Paper
from sciret.sources.duplicates import SeenIds
from sciret.sources.rejects import refuse


class Pass:
    """Once over everything that an order says is new since the last pass, or since one that was broken off."""

    def __init__(self, client: Client, existing: Existing, attachment: Attachment, order: Order) -> None:
        self.attachment = attachment
        self._existing, self._order, self._fields = existing, order, FieldMap(attachment.fields)
        self._before = attachment.by(order.field)
        self._began = int(time.time() * 1000)
        self._progress = order.begun(self._before, client, self._began)
        self._reader = IndexReader(
            client,
            existing.parts,
            self._fields.source_fields,
            where=order.where(self._progress),
            positions=self._progress.positions,
        )

    def papers(self) -> Generator[Paper | RecordError, None, None]:
        """Each document as a paper, or why not. Of several indices behind an alias, an id counts once."""
        seen = SeenIds() if len(self._existing.indices) > 1 else None
        with closing(iter(self._reader)) as documents:
            for document in documents:
                paper = self._fields.paper(document, title_from_abstract=self.attachment.title_from_abstract)
                if seen is not None and isinstance(paper, Paper) and not seen.add(paper.id):
                    reason = f"the id came before, in another index of {self._existing.name}; that document was taken"
                    yield refuse(f"{document.index}/{document.id}", reason, paper.to_dict())
                else:
                    yield paper

    def settled(self, *, complete: bool) -> Attachment:
        """What to remember when every paper that was handed out is settled, and, with `complete`, there are no more."""
        # Where nothing was read, the reader still is where the overlap put it.
        reached = {
            part: max(position, self._before.positions.get(part, -1))
            for part, position in self._reader.positions.items()
        }
        progress = replace(self._progress, positions=reached, reached=None, sure=False)
        if complete:
            progress = self._order.ended(self._before, progress, self._began)
        self.attachment = self.attachment.advanced(self._order.field, progress)
        return self.attachment
