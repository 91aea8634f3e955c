"""Cases of the functions that make or convert tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import vkml

from .case import Case, case
from .support import COMPOSED, DTYPES, SPECIAL, bools, ints, reals


def filled_cases() -> list[Case]:
    """zeros, ones, full and the like of another tensor."""
    out = []
    for name in ("zeros", "ones"):
        theirs = getattr(torch, name)
        out += [case(name, *s, theirs=theirs) for s in ((2, 3), ((2, 3),), ((),), (0,), ([4],))]
        out += [case(name, 3, dtype=t, theirs=theirs) for t in DTYPES]
    for value in (1.5, 2, True, np.inf, -0.0, np.nan):
        out.append(case("full", (2, 2), value))
    for dtype in DTYPES:
        out.append(case("full", (3,), 1, dtype=dtype))
        for name in ("zeros_like", "ones_like"):
            out += [case(name, x, grad=False) for x in (reals(2, 3), ints(3), bools(2))]
            out += [case(name, reals(2), dtype=dtype, grad=False)]
        out += [case("full_like", reals(2, 0), 3, dtype=dtype, grad=False)]
    out += [case("full_like", ints(3), 3), case("full_like", reals(3), 2.5, grad=False)]
    return out


def range_cases() -> list[Case]:
    """arange, linspace, eye."""
    out = [case("arange", *a) for a in ((5,), (2, 7), (2, 9, 3), (9, 2, -2), (0,))]
    out += [case("arange", *a) for a in ((2.0,), (0.0, 1.0, 0.1), (1, 0, -0.25), (0.5, 3))]
    out += [case("arange", 6, dtype=t) for t in DTYPES if t is not vkml.bool_]
    out += [case("arange", 0, 3, 0.5, dtype=t) for t in (vkml.float32, vkml.float16)]
    spans = ((0, 1, 5), (-1, 1, 2), (0, 1, 1), (3, -3, 7), (0, 1, 0), (0, 10, 11))
    out += [case("linspace", *a, tolerance=COMPOSED) for a in spans]
    out += [case("eye", *a) for a in ((3,), (2, 4), (4, 2), (0,), (1,))]
    return out + [case("eye", 3, dtype=t) for t in DTYPES]


def data_cases() -> list[Case]:
    """tensor and from_numpy: lists, numbers, arrays, dtypes."""
    data: tuple[Any, ...] = (1, 1.5, True, [1, 2], [1.0, 2], [[True, False]], [], [[], []])
    data += ([[1, 2], [3, 4.5]], -0.0, [np.nan, np.inf], [2**40], (1, 2), [[[[1.0]]]])
    out = [case("tensor", list(d) if isinstance(d, tuple) else d) for d in data]
    out += [case("tensor", [0, 1, 2], dtype=t) for t in DTYPES]
    out += [case("tensor", [0.0, 1.75, -2.5], dtype=t) for t in DTYPES]
    return out


def cast_cases() -> list[Case]:
    """to and astype between all pairs of dtypes, on values that both define."""
    numbers = np.array([0, 1, 2, 100, 7, 3], np.float64)
    out = []
    for source in DTYPES:
        x = numbers.astype(source.numpy)
        out += [case("to", x, t, theirs=torch.Tensor.to) for t in DTYPES]
        out += [case("astype", x, t, theirs=torch.Tensor.to) for t in DTYPES]
    signed = np.array([-1.5, -0.0, 0.25, 2049.0, 65519.0, 65520.0, 1e-8, np.inf, np.nan])
    for t in (vkml.float16, vkml.float32, vkml.bool_):
        out.append(case("to", signed.astype(np.float32), t, theirs=torch.Tensor.to, grad=False))
    wide = np.array([2**31, -(2**31) - 1, 2**40 + 5, -1, 16777217])
    out += [case("to", wide, t, theirs=torch.Tensor.to) for t in (vkml.int32, vkml.float32)]
    out += [case("to", SPECIAL, dtype=vkml.float16, theirs=torch.Tensor.to, grad=False)]
    return out


CASES = [*filled_cases(), *range_cases(), *data_cases(), *cast_cases()]
