"""From text to what the network reads, by the same rules as encoders have: `[CLS] title [SEP] abstract [SEP]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from tokenizers import Encoding
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from sciret.encoders.text import CHARACTERS_PER_TOKEN
from sciret.training.backbone import plain


class Texts(NamedTuple):
    """Padded token ids."""

    ids: Tensor  # [B, L]
    mask: Tensor  # [B, L] 1 for a token, 0 for padding

    def to(self, device: torch.device) -> Texts:
        return Texts(self.ids.to(device, non_blocking=True), self.mask.to(device, non_blocking=True))


class Reader:
    """Queries and papers to batches, each side with its own greatest length in tokens."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, query_length: int, document_length: int) -> None:
        self._padding = int(tokenizer.pad_token_id)
        self._queries, self._documents = plain(tokenizer), plain(tokenizer)
        self._queries.enable_truncation(query_length)
        self._documents.enable_truncation(document_length)
        self._titles = plain(tokenizer)
        self._titles.enable_truncation(document_length // 2)
        self._query_characters = query_length * CHARACTERS_PER_TOKEN
        self._characters = document_length * CHARACTERS_PER_TOKEN

    def queries(self, texts: Sequence[str]) -> Texts:
        return self._padded(self._queries.encode_batch([text.strip()[: self._query_characters] for text in texts]))

    def papers(self, texts: Sequence[tuple[str, str]]) -> Texts:
        """Of titles and abstracts, either of which may be empty."""
        return self._padded(self.encode(texts))

    def encode(self, texts: Sequence[tuple[str, str]]) -> list[Encoding]:
        inputs = [self.input(title, abstract) for title, abstract in texts]
        encodings: list[Encoding] = self._documents.encode_batch(inputs)
        return encodings

    def input(self, title: str, abstract: str) -> str | tuple[str, str]:
        """One text or two, as the tokenizer is given them. A title that was taken from the abstract is not read twice,
        and a long one leaves room for the abstract."""
        title, abstract = title.strip()[: self._characters], abstract.strip()[: self._characters]
        if not abstract:
            return title
        if not title or f"{abstract} ".startswith(f"{title} "):
            return abstract
        if len(title) > self._characters // CHARACTERS_PER_TOKEN // 2:  # else it is short enough, at a letter a token
            encoding = self._titles.encode(title, add_special_tokens=False)
            title = title[: encoding.offsets[-1][1]] if encoding.offsets else title
        return title, abstract

    def _padded(self, encodings: Sequence[Encoding]) -> Texts:
        length = max(len(encoding.ids) for encoding in encodings)
        ids = torch.full((len(encodings), length), self._padding)
        mask = torch.zeros(len(encodings), length, dtype=torch.int64)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = torch.tensor(encoding.ids)
            mask[row, : len(encoding.ids)] = 1
        return Texts(ids, mask)
