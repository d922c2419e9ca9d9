"""A sparse head for an encoder that has none, in closed form: from hidden states back to the wordpieces read."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from sciret.training.backbone import FittedEncoder

SCALE = 8.0
"""Length of a state: one that points at its word has a logit of nearly 8, less the decoder's bias."""
RIDGE = 1e-3


@torch.no_grad()
def fit_head(encoder: FittedEncoder, texts: Iterable[tuple[Tensor, Tensor]], special: Tensor) -> float:
    """Ridge regression from states to the normalised embeddings of their wordpieces, over batches of (ids, mask).

    Returns the share of positions whose own wordpiece then has the highest logit, on the last batch.
    """
    words = encoder.decoder.weight  # [V, d], of length 1
    size = words.shape[1] + 1
    squares, products = torch.zeros(size, size, dtype=torch.float64), torch.zeros(size, size - 1, dtype=torch.float64)
    states, read = torch.zeros(0, size, device=words.device), torch.zeros(0, dtype=torch.int64, device=words.device)
    for ids, mask in texts:
        positions = mask.bool() & ~torch.isin(ids, special)
        hidden = encoder.network(input_ids=ids, attention_mask=mask).last_hidden_state[positions]
        states, read = torch.nn.functional.pad(hidden, (0, 1), value=1.0), ids[positions]  # [P, d + 1], [P]
        squares += (states.T @ states).double().cpu()
        products += (states.T @ words[read]).double().cpu()
    ridge = RIDGE * squares.diagonal().mean() * torch.eye(size, dtype=torch.float64)
    solution = torch.linalg.solve(squares + ridge, products).float().to(words.device)  # [d + 1, d]
    encoder.transform.weight.copy_(SCALE * solution[:-1].T)
    encoder.transform.bias.copy_(SCALE * solution[-1])
    found = encoder.decoder(encoder.transform(states[:, :-1])).argmax(dim=1)
    return float((found == read).float().mean())
