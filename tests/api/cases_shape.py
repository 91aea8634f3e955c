"""Cases of the functions that move elements, and of indexing functions and sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from .case import Case, case
from .support import COMPOSED, bools, distinct, ints, reals


def view_cases() -> list[Case]:
    """Functions that change shape or order."""
    x = reals(2, 3, 4)
    out = [case("reshape", x, s) for s in ((24,), (4, 6), (2, -1), (-1, 3, 2), (2, 1, 3, 4))]
    out += [case("reshape", reals(), (1, 1)), case("reshape", reals(1), ())]
    out += [case("reshape", reals(0, 3), s) for s in ((0,), (3, 0, 2), (-1, 3))]
    out += [case("reshape", x, 6, 4, theirs=lambda t, *s: t.reshape(*s))]
    out += [case("view", x, 6, -1, theirs=torch.Tensor.view)]
    out += [case("permute", x, d) for d in ((2, 0, 1), (0, 2, 1), (-1, 1, 0), (0, 1, 2))]
    out += [case("permute", x, 2, 1, 0, theirs=torch.Tensor.permute)]
    out += [case("permute", reals(2, 3, 1, 2), (3, 1, 0, 2)), case("permute", reals(), ())]
    out += [case("transpose", x, a, b) for a, b in ((0, 1), (-1, -2), (0, -1), (1, 1))]
    y = reals(1, 3, 1, 2)
    out += [case("squeeze", y), *(case("squeeze", y, d) for d in (0, 1, -2, (0, 2), (0, 1)))]
    out += [case("squeeze", reals(1, 1)), case("squeeze", reals())]
    out += [case("unsqueeze", x, d) for d in (0, 1, 3, -1, -4)] + [case("unsqueeze", reals(), 0)]
    for shape in ((2, 3), (4, 2, 3), (2, 3, 2, 3)):
        out.append(case("broadcast_to", reals(2, 3)[:, :1] if len(shape) < 4 else reals(3), shape))
    out += [case("broadcast_to", reals(), (2, 0)), case("broadcast_to", reals(1), (0,))]
    for old, new in (((3, 1), (3, 4)), ((3, 1), (-1, 4)), ((3, 1), (2, -1, 4)), ((), (2, 2))):
        out.append(case("expand", reals(*old), new, theirs=torch.Tensor.expand))
    out += [case("expand", reals(1, 3), 2, 3, theirs=torch.Tensor.expand)]
    out += [case("flatten", x), case("flatten", x, 1), case("flatten", x, 0, 1)]
    out += [case("flatten", reals()), case("flatten", x, -2, -1), case("flatten", reals(2, 0, 3))]
    out += [case("contiguous", x, theirs=torch.Tensor.contiguous)]
    out += [case("flip", x, d) for d in ((0,), (1, 2), (-1,), (0, 1, 2))]
    out += [case("flip", ints(3), (0,)), case("flip", reals(0, 2), (0,))]
    return out


def copy_cases() -> list[Case]:
    """Joining, cutting, repeating, padding, triangles."""
    out = []
    for n in ((2,), (1, 3), (2, 2, 2), (0, 2)):
        out.append(case("repeat", reals(2) if len(n) < 3 else reals(2, 3), n, theirs=_repeat))
    out += [case("repeat", reals(2, 3), 2, 2, theirs=torch.Tensor.repeat)]
    out += [case("repeat", reals(2, 3), (1, 2, 1, 3), theirs=_repeat)]
    a, b, c = reals(2, 3), reals(4, 3), reals(0, 3)
    out += [case("cat", [a, b, c]), case("cat", [a, b], dim=0), case("cat", [a], dim=1)]
    out += [case("cat", [reals(2, 3, 4), reals(2, 1, 4)], d) for d in (1, -2)]
    out += [case("cat", [ints(3), reals(3)]), case("cat", [bools(3), ints(3, dtype=np.int32)])]
    out += [case("cat", [ints(3), reals(3, dtype=np.float16)]), case("cat", [a, a, b])]
    out += [case("stack", [a, reals(2, 3)], d) for d in (0, 1, 2, -1, -3)]
    out += [case("stack", [reals(), reals()]), case("stack", [ints(2), reals(2)])]
    x = reals(7, 4)
    out += [case("split", x, n) for n in (1, 3, 7, 9, [3, 4], [0, 7], [7])]
    out += [case("split", x, [1, 2, 1], d) for d in (1, -1)] + [case("split", reals(0, 2), 3)]
    out += [case("chunk", x, n) for n in (1, 2, 3, 4, 5, 7, 9)]
    out += [case("chunk", x, 3, 1), case("chunk", x, 3, -1), case("chunk", reals(0, 2), 2)]
    for widths in ((1, 2), (0, 0), (-1, 2), (-1, -1), (1, 1, 2, 0), (0, 1, -1, 1), (-2, -2)):
        out.append(case("pad", reals(3, 4), widths, theirs=F.pad))
        out.append(case("pad", reals(3, 4), widths, value=1.5, theirs=F.pad))
    out += [case("pad", ints(3), (1, 1), value=7, theirs=F.pad)]
    out += [case("pad", reals(2, 1, 2, 3), (1, 0, 0, 1, 1, 1, 2, 0), theirs=F.pad)]
    out += [case("pad", reals(0, 2), (0, 0, 1, 1), theirs=F.pad)]
    for name in ("tril", "triu"):
        for shape in ((3, 3), (2, 4), (4, 2), (2, 3, 3), (0, 2)):
            out += [case(name, reals(*shape), k) for k in (0, 1, -1, 3, -5)]
        out += [case(name, ints(3, 3)), case(name, bools(3, 4)), case(name, reals(2, 2, 3, 3))]
    return out


def _repeat(x: torch.Tensor, sizes: Any) -> torch.Tensor:
    return x.repeat(sizes)


def index_cases() -> list[Case]:
    """gather, index_select, scatter_add."""
    x = reals(3, 4, 5)
    out = []
    for dim, shape in ((0, (2, 4, 5)), (1, (3, 6, 5)), (-1, (3, 4, 2)), (2, (1, 2, 7))):
        index = ints(*shape, low=0, high=x.shape[dim])
        out += [case("gather", x, dim, index), case("gather", ints(3, 4, 5), dim, index)]
    out += [case("gather", reals(4), 0, np.zeros(0, np.int64))]
    out += [case("gather", reals(4), 0, ints(9, low=0, high=4))]
    for dim in (0, 1, -1):
        for index in (np.array([2, 0, 2, 1]), np.array([1], np.int32), np.zeros(0, np.int64)):
            out.append(case("index_select", x, dim, index))
    for axis, shape in ((0, (6, 3)), (1, (3, 6)), (0, (6,)), (-1, (2, 2, 6))):
        row = np.array([0, 3, 3, 1, 0, 3])
        spread = ints(*shape, low=0, high=5)
        for index in (row, spread):
            out.append(case("scatter_add", reals(*shape), axis, index, 5, theirs=_scatter_add))
        out.append(case("scatter_add", ints(*shape), axis, row, 4, theirs=_scatter_add))
    return out


def _scatter_add(src: torch.Tensor, axis: int, index: torch.Tensor, size: int) -> torch.Tensor:
    shape = list(src.shape)
    shape[axis] = size
    if index.ndim != src.ndim:
        index = index.reshape([-1 if i == axis % src.ndim else 1 for i in range(src.ndim)])
    return torch.zeros(shape, dtype=src.dtype).scatter_add(axis, index.expand(src.shape), src)


def sort_cases() -> list[Case]:
    """sort, argsort, topk; PyTorch's stable forms decide the order of ties."""
    nan = np.array([[2.0, np.nan, -1.0, np.inf, np.nan, -np.inf, 0.0, -0.0, 2.0]], np.float32)
    out = []
    for name, theirs in (("sort", _sort), ("argsort", _argsort)):
        for x in (distinct(5), distinct(3, 4), ints(3, 9, high=-5), nan, bools(7), reals(0, 2)):
            for down in (False, True):
                out.append(case(name, x, -1, down, theirs=theirs))
        out += [case(name, distinct(3, 4, 2), d, theirs=theirs) for d in (0, 1, -3)]
        out += [case(name, ints(9, dtype=np.int32), theirs=theirs)]
        out += [case(name, distinct(9, dtype=np.float16), theirs=theirs)]
        out += [case(name, reals(), theirs=theirs)]
    for k in (0, 1, 3, 5):
        for largest in (True, False):
            out.append(case("topk", distinct(4, 5), k, largest=largest, theirs=_topk))
    out += [case("topk", distinct(4, 5), 2, 0, theirs=_topk), case("topk", nan, 3, theirs=_topk)]
    out += [case("topk", ints(20, high=0), 12, theirs=_topk)]
    return out


def _sort(x: torch.Tensor, dim: int = -1, descending: bool = False) -> Any:
    return tuple(torch.sort(x, dim=dim, descending=descending, stable=True))


def _argsort(x: torch.Tensor, dim: int = -1, descending: bool = False) -> torch.Tensor:
    return torch.argsort(x, dim=dim, descending=descending, stable=True)


def _topk(x: torch.Tensor, k: int, dim: int = -1, largest: bool = True) -> Any:
    """The first k of a stable sort: torch.topk leaves the order of ties open."""
    values, order = torch.sort(x, dim=dim, descending=largest, stable=True)
    return values.narrow(dim, 0, k), order.narrow(dim, 0, k)


def window_cases() -> list[Case]:
    """im2col and col2im, as unfold and fold."""
    out = []
    for kernel, stride, padding, dilation in (
        (2, 1, 0, 1),
        ((2, 3), (1, 2), (1, 0), 1),
        (3, 2, 1, 1),
        (2, 1, 1, (2, 1)),
    ):
        window = (kernel, stride, padding, dilation)
        out.append(case("im2col", reals(2, 3, 5, 6), *window, theirs=_unfold))
        columns = F.unfold(torch.zeros(2, 3, 5, 6), kernel, dilation, padding, stride)
        x = reals(*columns.shape)
        out.append(case("col2im", x, (5, 6), *window, theirs=_fold, tolerance=COMPOSED))
    return out


def _unfold(x: torch.Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    return F.unfold(x, kernel, dilation, padding, stride)


def _fold(x: Any, image: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    return F.fold(x, image, kernel, dilation, padding, stride)


CASES = [*view_cases(), *copy_cases(), *index_cases(), *sort_cases(), *window_cases()]
