"""Pooling over windows of images (N, C, H, W)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkml_backend_cpu.kernels.indexing import scatter_add
from vkml_backend_cpu.kernels.windows import Pair, padded, places, taps

Array = npt.NDArray[Any]


def _first_largest(
    x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> tuple[Array, Array]:
    """Give the value and the index y·W + x of the first largest element of each window."""
    _, _, h, w = x.shape
    size = places((h, w), kernel, stride, padding, dilation)
    wide = padded(x, padding, 0)
    index = np.full((1, 1, h, w), 0, np.int64) + np.arange(h * w).reshape((1, 1, h, w))
    index = padded(index, padding, -1)
    best = np.zeros((*x.shape[:2], *size), x.dtype)
    found = np.full(best.shape, -1, np.int64)
    for window in taps(kernel, stride, dilation, size):
        value, at = wide[(..., *window)], index[(..., *window)]
        # NaN is the largest, and the first NaN stays; padding (−1) is never chosen.
        better = (value > best) | ((value != value) & (best == best)) | (found < 0)
        better &= at >= 0
        best = np.where(better, value, best)
        found = np.where(better, at, found)
    return best, found


def max_pool2d(x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Array:
    """Largest element of each window."""
    return _first_largest(x, kernel, stride, padding, dilation)[0]


def max_pool2d_indices(
    x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> Array:
    """Place y·W + x of the first largest element of each window."""
    return _first_largest(x, kernel, stride, padding, dilation)[1]


def max_pool2d_input_grad(
    g: Array, x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> Array:
    """Add window values at the first largest elements, in row-major order of the windows."""
    _, index = _first_largest(x, kernel, stride, padding, dilation)
    _, _, h, w = x.shape
    return max_unpool2d(g, index, (h, w))


def max_unpool2d(g: Array, indices: Array, image: Pair) -> Array:
    """Add window values at their places in zeros, in row-major order of the windows."""
    n, c, *size = g.shape
    flat = (n, c, size[0] * size[1])
    out = scatter_add(g.reshape(flat), indices.reshape(flat), 2, image[0] * image[1])
    return out.reshape((n, c, *image))


def avg_pool2d(x: Array, kernel: Pair, stride: Pair, padding: Pair) -> Array:
    """Sum of each window in (ky, kx) order from +0, divided by the kernel's size."""
    size = places(x.shape[2:], kernel, stride, padding, (1, 1))
    wide = padded(x, padding, 0)
    total = np.zeros((*x.shape[:2], *size), x.dtype)
    for window in taps(kernel, stride, (1, 1), size):
        total += wide[(..., *window)]
    mean: Array = total / x.dtype.type(kernel[0] * kernel[1])
    return mean
