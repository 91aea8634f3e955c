"""Turns sentences, given as tokens, into embeddings: in batches, from short to long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import bert
import numpy as np
from rich.console import Console
from rich.progress import track

import vkml

Tokens = Sequence[Sequence[int]]


def batches(tokens: Tokens, size: int) -> Iterator[tuple[list[int], Any, Any]]:
    """Give numbers of sentences, their tokens (N, L) padded with 0, and a mask of the tokens.

    They go from short to long, so that little is computed for padding.
    """
    order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        lengths = np.array([len(tokens[i]) for i in chosen])
        mask = np.arange(lengths.max()) < lengths[:, None]
        padded = np.zeros(mask.shape, np.int64)
        padded[mask] = np.concatenate([tokens[i] for i in chosen])
        yield chosen, padded, mask


def encode(model: bert.MiniLM, tokens: Tokens, size: int, console: Console) -> vkml.Tensor:
    """Give the embeddings (sentences, width), in the order of the sentences."""
    device, steps = model.embeddings.position_ids.device, -(-len(tokens) // size)
    order: list[int] = []
    found: list[vkml.Tensor] = []
    quiet = not console.is_terminal
    with vkml.no_grad():
        for chosen, *arrays in track(
            batches(tokens, size), "encoding", steps, console=console, transient=True, disable=quiet
        ):
            padded, mask = (vkml.tensor(a, device=device) for a in arrays)
            found.append(model(padded, mask).realize())
            order += chosen
        return vkml.cat(found)[np.argsort(order)].realize()
