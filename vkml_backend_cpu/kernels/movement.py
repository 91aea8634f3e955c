"""Joining and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def cat(arrays: Sequence[Array], axis: int) -> Array:
    """Put arrays one after another along an axis."""
    return np.ascontiguousarray(np.concatenate(arrays, axis))


def pad(
    x: Array, low: Sequence[int], high: Sequence[int], interior: Sequence[int], value: Any
) -> Array:
    """Put `value` before, after and between the elements along each axis."""
    sizes = list(zip(x.shape, low, high, interior, strict=True))
    out = np.full([lo + d + max(d - 1, 0) * i + hi for d, lo, hi, i in sizes], value, x.dtype)
    places = tuple(slice(lo, lo + d + max(d - 1, 0) * i, i + 1) for d, lo, _, i in sizes)
    out[places] = x
    return out
