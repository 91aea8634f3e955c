"""Rows and functions that move, pick and add elements as cases."""

from __future__ import annotations

from typing import Any, Final

import torch

from .case import Case, apart, ints, real, row


def _pad_reference(x: Any, value: Any) -> Any:
    out = value.expand(9, 7).clone()
    out[2:8:2, 1:6] = x
    return out


MOVEMENT: Final = (
    Case("reshape", lambda m, x: m.reshape(x, (3, 4)), (real(2, 6),)),
    Case("view", lambda m, x: x.view(3, 4), (real(2, 6),)),
    Case("flatten", lambda m, x: m.flatten(x, 1), (real(2, 2, 2),)),
    Case("squeeze", lambda m, x: m.squeeze(x, 1), (real(2, 1, 2),)),
    Case("unsqueeze", lambda m, x: m.unsqueeze(x, -1), (real(2, 2),)),
    Case("permute", lambda m, x: m.permute(x, (2, 0, 1)), (real(2, 3, 2),)),
    Case("transpose", lambda m, x: m.transpose(x, 0, 2), (real(2, 3, 2),)),
    Case("broadcast_to", lambda m, x: m.broadcast_to(x, (2, 3, 2)), (real(3, 1),)),
    Case("expand", lambda m, x: x.expand(2, -1, 4), (real(3, 1),)),
    Case("slice with steps", lambda m, x: x[1:, ::2, 1:6:3], (real(3, 4, 7),)),
    Case(
        "slice backwards",
        lambda m, x: x[::-1, 5:0:-2],
        (real(3, 7),),
        lambda x: torch.flip(x, (0, 1))[:, 1:6:2],
    ),
    Case("slice of a slice", lambda m, x: x[:, 1:][1:, ::3], (real(3, 7),)),
    Case("contiguous", lambda m, x: row("contiguous", x.T), (real(2, 3),), lambda x: x.T.clone()),
    Case("contiguous function", lambda m, x: m.transpose(x, 0, 1).contiguous(), (real(2, 3),)),
    Case("cat", lambda m, a, b, c: m.cat([a, b, a, c], 1), (real(2, 1), real(2, 3), real(2, 2))),
    Case("stack", lambda m, a, b: m.stack([a, b, a], 1), (real(2, 2), real(2, 2))),
    Case("split", lambda m, x: m.split(x, (1, 0, 3), 1), (real(2, 4),)),
    Case("chunk", lambda m, x: m.chunk(x, 3, 1), (real(2, 5),)),
    Case(
        "pad between too",
        lambda m, x, v: row("pad", x, v, low=(2, 1), high=(2, 1), interior=(1, 0)),
        (real(3, 5), real()),
        _pad_reference,
    ),
    Case("pad", lambda m, x: m.pad(x, (1, -1, 0, 2), value=0.5), (real(2, 3),)),
    Case("flip", lambda m, x: m.flip(x, (0, 2)), (real(2, 3, 2),)),
    Case("repeat", lambda m, x: x.repeat(2, 1, 3), (real(3, 2),)),
    Case("tril", lambda m, x: m.tril(x, 1), (real(2, 3, 4),)),
    Case("triu", lambda m, x: m.triu(x, -1), (real(4, 3),)),
    Case("T", lambda m, x: x.T @ x, (real(2, 3),)),
)

INDEXING: Final = (
    Case(
        "gather repeated",
        lambda m, x: m.gather(x, 1, m.tensor([[0, 2, 2, 0], [1, 1, 1, 1]])),
        (real(3, 3),),
    ),
    Case(
        "scatter_add repeated",
        lambda m, x: m.scatter_add(x, 1, ints([[0, 3, 0], [1, 1, 1]]), 4),
        (real(2, 3),),
        lambda x: torch.zeros(2, 4, dtype=x.dtype).scatter_add(
            1, torch.tensor([[0, 3, 0], [1, 1, 1]]), x
        ),
    ),
    Case(
        "scatter_add by a vector",
        lambda m, x: m.scatter_add(x, 0, ints([2, 0, 2]), 4),
        (real(3, 2),),
        lambda x: torch.zeros(4, 2, dtype=x.dtype).index_add(0, torch.tensor([2, 0, 2]), x),
    ),
    Case(
        "index_select repeated",
        lambda m, x: m.index_select(x, 1, m.tensor([2, 0, 2, 2])),
        (real(2, 3, 2),),
    ),
    Case("getitem ints", lambda m, x: x[-1, None, ..., 0], (real(2, 3, 2),)),
    Case("getitem array", lambda m, x: x[:, [2, 0, 2, -1]], (real(2, 3, 2),)),
    Case("getitem two arrays", lambda m, x: x[[[0, 1], [1, 1]], :, [0, -1]], (real(2, 3, 2),)),
    Case(
        "getitem mask",
        lambda m, x: x[m.tensor([[True, False, True], [False, True, False]])],
        (real(2, 3),),
    ),
    Case(
        "getitem backwards and array",
        lambda m, x: x[::-1, [1, 1]],
        (real(3, 2),),
        lambda x: torch.flip(x, (0,))[:, [1, 1]],
    ),
    Case("sort", lambda m, x: m.sort(x, 1), (apart(2, 5),)),
    Case("sort down", lambda m, x: m.sort(x, 0, True), (apart(4, 2),)),
    Case("topk", lambda m, x: m.topk(x, 2, 1), (apart(2, 5),)),
    Case("topk smallest", lambda m, x: m.topk(x, 3, 0, False), (apart(5, 2),)),
    Case(
        "masked_fill",
        lambda m, x: m.masked_fill(x, m.tensor([True, False, True]), 2.0),
        (real(2, 3),),
    ),
)


MOVEMENT_ROWS: Final = (*MOVEMENT, *INDEXING)
