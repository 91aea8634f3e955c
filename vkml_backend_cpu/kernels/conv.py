"""Convolution and its two gradients: im2col, the contract's matmul, col2im."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkml_backend_cpu.kernels.matmul import matmul
from vkml_backend_cpu.kernels.windows import Pair, padded, places, taps

Array = npt.NDArray[Any]


def _columns(x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Array:
    """Give the windows as (C, kh·kw, N, oh·ow)."""
    n, c, *image = x.shape
    size = places(image, kernel, stride, padding, dilation)
    wide = padded(x, padding, 0).transpose(1, 0, 2, 3)
    out = np.empty((c, kernel[0] * kernel[1], n, *size), x.dtype)
    for i, window in enumerate(taps(kernel, stride, dilation, size)):
        out[:, i] = wide[(..., *window)]
    return out.reshape((c, kernel[0] * kernel[1], n, size[0] * size[1]))


def im2col(x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Array:
    """Give the windows of (N, C, H, W) as columns (N, C·kh·kw, oh·ow)."""
    cols = _columns(x, kernel, stride, padding, dilation)
    c, t, n, p = cols.shape
    return np.ascontiguousarray(cols.transpose(2, 0, 1, 3)).reshape((n, c * t, p))


def _accumulated(
    cols: Array, image: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> Array:
    """Add (C, kh·kw, N, oh·ow) into images (N, C, H, W), tap by tap from +0."""
    c, _, n, _ = cols.shape
    size = places(image, kernel, stride, padding, dilation)
    wide = np.zeros((c, n, image[0] + 2 * padding[0], image[1] + 2 * padding[1]), cols.dtype)
    for i, window in enumerate(taps(kernel, stride, dilation, size)):
        wide[(..., *window)] += cols[:, i].reshape((c, n, *size))
    inner = wide[:, :, padding[0] : padding[0] + image[0], padding[1] : padding[1] + image[1]]
    return np.ascontiguousarray(inner.transpose(1, 0, 2, 3))


def col2im(
    cols: Array, image: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> Array:
    """Add columns (N, C·kh·kw, oh·ow) into images (N, C, H, W), in (ky, kx) order from +0."""
    n, rows, p = cols.shape
    t = kernel[0] * kernel[1]
    split = cols.reshape((n, rows // t, t, p)).transpose(1, 2, 0, 3)
    return _accumulated(split, image, kernel, stride, padding, dilation)


def conv2d(x: Array, w: Array, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> Array:
    """(N, C, H, W) with (O, C/groups, kh, kw): matmul over k = (channel, ky, kx) in each group."""
    o, c, *kernel = w.shape
    n = x.shape[0]
    size = places(x.shape[2:], kernel, stride, padding, dilation)
    cols = _columns(x, kernel, stride, padding, dilation)
    right = cols.reshape((groups, c * kernel[0] * kernel[1], n * size[0] * size[1]))
    out = matmul(w.reshape((groups, o // groups, right.shape[1])), right)
    return np.ascontiguousarray(out.reshape((o, n, *size)).transpose(1, 0, 2, 3))


def _by_output(g: Array, groups: int) -> Array:
    """Bring (N, O, oh, ow) to (groups, O/groups, N·oh·ow)."""
    n, o, *size = g.shape
    return g.transpose(1, 0, 2, 3).reshape((groups, o // groups, n * size[0] * size[1]))


def conv2d_input_grad(
    g: Array, w: Array, image: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Array:
    """col2im of the transposed weight times the gradient."""
    o, c, *kernel = w.shape
    t = kernel[0] * kernel[1]
    left = w.reshape((groups, o // groups, c * t)).transpose(0, 2, 1)
    cols = matmul(left, _by_output(g, groups))
    split = cols.reshape((groups * c, t, g.shape[0], g.shape[2] * g.shape[3]))
    return _accumulated(split, image, kernel, stride, padding, dilation)


def conv2d_weight_grad(
    x: Array, g: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Array:
    """The gradient times the transposed columns, over (n, oy, ox)."""
    cols = _columns(x, kernel, stride, padding, dilation)
    c = x.shape[1] // groups
    right = cols.reshape((groups, c * kernel[0] * kernel[1], cols.shape[2] * cols.shape[3]))
    out = matmul(_by_output(g, groups), right.transpose(0, 2, 1))
    return out.reshape((g.shape[1], c, *kernel))
