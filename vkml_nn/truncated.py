"""Normal numbers within bounds, drawn until all are: the draws alone decide, on every device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from vkml_core.dtypes import DType
from vkml_core.errors import ArgumentError
from vkml_core.functional.creation import convert, tensor, zeros
from vkml_core.functional.elementwise import call, where
from vkml_core.functional.random import rand, randn
from vkml_core.functional.reduce import any
from vkml_core.shapes import Shape
from vkml_core.tensor import Tensor

ROUNDS: Final = 10_000
"""Draws after which the bounds count as out of reach."""
_COMMON: Final = 0.3
"""From which share of accepted normal numbers on they are drawn directly, as in PyTorch."""

Draw = Callable[[], tuple[Tensor, Tensor]]
"""Gives candidates, and a mask of those that are accepted."""


def _share(mean: float, std: float, a: float, b: float) -> float:
    """Give the probability of a normal number within [a, b], by the contract's erf."""
    ends = [(x - mean) / (std * math.sqrt(2.0)) for x in (a, b)]
    low, high = call("erf", tensor(ends, device="cpu")).tolist()
    return float(high - low) / 2.0


def truncated_normal(
    shape: Shape, mean: float, std: float, a: float, b: float, dtype: DType, device: str
) -> Tensor:
    """Give normal numbers conditioned on lying within [a, b], bounds rounded to `dtype`."""

    def normal() -> tuple[Tensor, Tensor]:
        x = convert(randn(shape, device=device) * std + mean, dtype)
        return x, (x >= a) & (x <= b)

    peak = min(max(mean, a), b)

    def flat() -> tuple[Tensor, Tensor]:
        u = rand(shape, device=device) * (b - a) + a
        z, top = (u - mean) / std, (peak - mean) / std
        accepted = call("log", rand(shape, device=device)) <= (z * z - top * top) * -0.5
        x = convert(u, dtype)
        return x, accepted & (x >= a) & (x <= b)

    return _drawn(normal if _share(mean, std, a, b) > _COMMON else flat, shape, dtype, device)


def _drawn(draw: Draw, shape: Shape, dtype: DType, device: str) -> Tensor:
    """Keep the last accepted candidate of each element, once every element has one."""
    values = zeros(shape, dtype=dtype, device=device)
    found = values != 0.0
    for _ in range(ROUNDS):
        candidates, accepted = draw()
        values = where(accepted, candidates, values)
        found = (found | accepted).realize()
        if not any(~found).item():
            return values
    raise ArgumentError("trunc_normal_: [a, b] is too far from the mean, or too narrow for dtype")
