"""Convolutions and pooling in float64 NumPy, a tap of the window at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Pair = tuple[int, int]


def _places(image: Sequence[int], a: Any, kernel: Pair) -> Pair:
    """Count the positions of a window."""
    dilation = getattr(a, "dilation", (1, 1))
    y, x = (
        (d + 2 * p - w * (k - 1) - 1) // s + 1
        for d, k, s, p, w in zip(image, kernel, a.stride, a.padding, dilation, strict=True)
    )
    return y, x


def _taps(a: Any, kernel: Pair, places: Pair) -> Iterator[tuple[int, int, Array, Array]]:
    """Give each tap of a window with the padded rows and columns that it meets."""
    dilation = getattr(a, "dilation", (1, 1))
    for ky in range(kernel[0]):
        for kx in range(kernel[1]):
            rows = ky * dilation[0] + a.stride[0] * np.arange(places[0])
            cols = kx * dilation[1] + a.stride[1] * np.arange(places[1])
            yield ky, kx, rows[:, None], cols[None, :]


def _padded(x: Array, padding: Pair, value: float = 0.0) -> Array:
    (py, px) = padding
    return np.pad(x, ((0, 0), (0, 0), (py, py), (px, px)), constant_values=value)


def _cropped(x: Array, padding: Pair, image: Pair) -> Array:
    (py, px), (h, w) = padding, image
    return x[:, :, py : py + h, px : px + w]


def _blank(n: int, c: int, image: Pair, padding: Pair) -> Array:
    return np.zeros((n, c, image[0] + 2 * padding[0], image[1] + 2 * padding[1]))


def _groups(channels: int, groups: int) -> list[slice]:
    each = channels // groups
    return [slice(i * each, (i + 1) * each) for i in range(groups)]


def _conv2d(a: Any, x: Array, w: Array) -> Array:
    kernel = w.shape[2:]
    places = _places(x.shape[2:], a, kernel)
    out, image = np.zeros((x.shape[0], w.shape[0], *places)), _padded(x, a.padding)
    for i, o in zip(_groups(x.shape[1], a.groups), _groups(w.shape[0], a.groups), strict=True):
        for ky, kx, rows, cols in _taps(a, kernel, places):
            out[:, o] += np.einsum("ncyx,oc->noyx", image[:, i][:, :, rows, cols], w[o, :, ky, kx])
    return out


def _conv2d_input_grad(a: Any, g: Array, w: Array) -> Array:
    channels, kernel = w.shape[1] * a.groups, w.shape[2:]
    image = _blank(g.shape[0], channels, a.image, a.padding)
    for i, o in zip(_groups(channels, a.groups), _groups(w.shape[0], a.groups), strict=True):
        for ky, kx, rows, cols in _taps(a, kernel, g.shape[2:]):
            image[:, i, rows, cols] += np.einsum("noyx,oc->ncyx", g[:, o], w[o, :, ky, kx])
    return _cropped(image, a.padding, a.image)


def _conv2d_weight_grad(a: Any, x: Array, g: Array) -> Array:
    out = np.zeros((g.shape[1], x.shape[1] // a.groups, *a.kernel))
    image = _padded(x, a.padding)
    for i, o in zip(_groups(x.shape[1], a.groups), _groups(g.shape[1], a.groups), strict=True):
        for ky, kx, rows, cols in _taps(a, a.kernel, g.shape[2:]):
            seen = image[:, i][:, :, rows, cols]
            out[o, :, ky, kx] = np.einsum("ncyx,noyx->oc", seen, g[:, o])
    return out


def _windows(a: Any, x: Array, fill: float = 0.0) -> Array:
    """Give (N, C, taps, oy, ox)."""
    image, places = _padded(x, a.padding, fill), _places(x.shape[2:], a, a.kernel)
    return np.stack([image[:, :, r, c] for _, _, r, c in _taps(a, a.kernel, places)], 2)


def _im2col(a: Any, x: Array) -> Array:
    seen = _windows(a, x)
    n, c, taps, h, w = seen.shape
    return seen.reshape(n, c * taps, h * w)


def _col2im(a: Any, cols: Array) -> Array:
    taps, places = a.kernel[0] * a.kernel[1], _places(a.image, a, a.kernel)
    n, c = cols.shape[0], cols.shape[1] // taps
    seen, image = cols.reshape(n, c, taps, *places), _blank(n, c, a.image, a.padding)
    for ky, kx, rows, columns in _taps(a, a.kernel, places):
        image[:, :, rows, columns] += seen[:, :, ky * a.kernel[1] + kx]
    return _cropped(image, a.padding, a.image)


def _max_pool2d_indices(a: Any, x: Array) -> Array:
    h, w = x.shape[2:]
    best = np.argmax(_windows(a, x, -math.inf), 2)
    number = np.arange(h * w, dtype=np.float64).reshape(1, 1, h, w)
    numbers = np.broadcast_to(_windows(a, number), (*x.shape[:2], *_windows(a, number).shape[2:]))
    return np.take_along_axis(numbers, best[:, :, None], 2)[:, :, 0]


def _max_pool2d_input_grad(a: Any, g: Array, x: Array) -> Array:
    index = _max_pool2d_indices(a, x).astype(np.int64)
    out = np.zeros((*x.shape[:2], x.shape[2] * x.shape[3]))
    batch, channel = np.ogrid[: x.shape[0], : x.shape[1]]
    flat = (*x.shape[:2], -1)
    at = batch[..., None], channel[..., None], index.reshape(flat)
    np.add.at(out, at, g.reshape(flat))
    return out.reshape(x.shape)


def _max_unpool2d(a: Any, x: Array, index: Array) -> Array:
    (n, c), (h, w) = x.shape[:2], a.image
    out = np.zeros((n, c, h * w))
    batch, channel = np.ogrid[:n, :c]
    np.add.at(
        out, (batch[..., None], channel[..., None], index.reshape(n, c, -1)), x.reshape(n, c, -1)
    )
    return out.reshape(n, c, h, w)


WINDOWS: Final[dict[str, Callable[..., Array]]] = {
    "conv2d": _conv2d,
    "conv2d_input_grad": _conv2d_input_grad,
    "conv2d_weight_grad": _conv2d_weight_grad,
    "im2col": _im2col,
    "col2im": _col2im,
    "max_pool2d": lambda a, x: np.max(_windows(a, x, -math.inf), 2),
    "max_pool2d_indices": _max_pool2d_indices,
    "max_pool2d_input_grad": _max_pool2d_input_grad,
    "max_unpool2d": _max_unpool2d,
    "avg_pool2d": lambda a, x: np.mean(_windows(a, x), 2),
}
