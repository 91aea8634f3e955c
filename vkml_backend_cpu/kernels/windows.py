"""Geometry of sliding windows: how many places, and what each tap of the kernel sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Pair = Sequence[int]


def places(
    image: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> tuple[int, int]:
    """Count the places of the window: (oh, ow)."""
    rows, cols = (
        (d + 2 * p - w * (k - 1) - 1) // s + 1
        for d, k, s, p, w in zip(image, kernel, stride, padding, dilation, strict=True)
    )
    return rows, cols


def padded(x: Array, padding: Pair, value: float) -> Array:
    """Put `value` around images (N, C, H, W)."""
    if not any(padding):
        return x
    n, c, h, w = x.shape
    wide = np.full((n, c, h + 2 * padding[0], w + 2 * padding[1]), value, x.dtype)
    wide[:, :, padding[0] : padding[0] + h, padding[1] : padding[1] + w] = x
    return wide


def taps(kernel: Pair, stride: Pair, dilation: Pair, size: Pair) -> Iterator[tuple[slice, slice]]:
    """Give, in (ky, kx) order, the slices of a padded image that a tap sees at all places."""
    for ky in range(kernel[0]):
        for kx in range(kernel[1]):
            y, x = ky * dilation[0], kx * dilation[1]
            yield (
                slice(y, y + (size[0] - 1) * stride[0] + 1, stride[0]),
                slice(x, x + (size[1] - 1) * stride[1] + 1, stride[1]),
            )
