"""Convolutions and pooling by scalars, from rules 20 to 22."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from .reference_sums import ZERO, dot, places
from .values import Array

Pair = Sequence[int]


def window_places(image: Pair, a: Any, kernel: Pair) -> list[int]:
    dilation = getattr(a, "dilation", (1, 1))
    return [
        (image[i] + 2 * a.padding[i] - dilation[i] * (kernel[i] - 1) - 1) // a.stride[i] + 1
        for i in (0, 1)
    ]


def tap(a: Any, place: Pair, k: Pair, image: Pair) -> tuple[int, int] | None:
    """Give the pixel that a tap of a window sees, None in the padding."""
    dilation = getattr(a, "dilation", (1, 1))
    y, x = (place[i] * a.stride[i] - a.padding[i] + k[i] * dilation[i] for i in (0, 1))
    return (y, x) if 0 <= y < image[0] and 0 <= x < image[1] else None


def seen(x: Array, n: int, c: int, pixel: tuple[int, int] | None) -> Any:
    return ZERO if pixel is None else x[(n, c, *pixel)]


def im2col(attrs: Any, x: Array) -> Array:
    n, c, *image = x.shape
    size = window_places(image, attrs, attrs.kernel)
    rows = [(i, k) for i in range(c) for k in places(attrs.kernel)]
    cols = list(places(size))
    out = np.empty((n, len(rows), len(cols)), x.dtype)
    for b, r, p in places(out.shape):
        channel, k = rows[r]
        out[b, r, p] = seen(x, b, channel, tap(attrs, cols[p], k, image))
    return out


def _added(attrs: Any, kernel: Pair, image: Pair, values: Array) -> Array:
    """Add the values (kh, kw, places) into one image, in (ky, kx) order from +0."""
    out = np.zeros(image, np.float32)
    size = window_places(image, attrs, kernel)
    for k in places(kernel):
        for p, place in enumerate(places(size)):
            pixel = tap(attrs, place, k, image)
            if pixel is not None:
                out[pixel] = out[pixel] + values[(*k, p)]
    return out


def col2im(attrs: Any, cols: Array) -> Array:
    n, rows, p = cols.shape
    kh, kw = attrs.kernel
    out = np.empty((n, rows // (kh * kw), *attrs.image), cols.dtype)
    taps = cols.reshape((*out.shape[:2], kh, kw, p))
    for b, c in places(out.shape[:2]):
        out[b, c] = _added(attrs, attrs.kernel, attrs.image, taps[b, c])
    return out


def conv2d(attrs: Any, x: Array, w: Array) -> Array:
    n, _, *image = x.shape
    o, c, *kernel = w.shape
    size = window_places(image, attrs, kernel)
    out = np.empty((n, o, *size), x.dtype)
    for b, f, *place in places(out.shape):
        first = f // (o // attrs.groups) * c
        pixels = [
            seen(x, b, first + i, tap(attrs, place, k, image))
            for i in range(c)
            for k in places(kernel)
        ]
        out[(b, f, *place)] = dot(list(w[f].ravel()), pixels)
    return out


def conv2d_input_grad(attrs: Any, g: Array, w: Array) -> Array:
    n, o, *size = g.shape
    _, c, *kernel = w.shape
    each = o // attrs.groups
    flat = g.reshape((n, o, size[0] * size[1]))
    out = np.empty((n, c * attrs.groups, *attrs.image), g.dtype)
    for b, channel in places(out.shape[:2]):
        group, i = divmod(channel, c)
        own = slice(group * each, (group + 1) * each)
        taps = np.empty((*kernel, flat.shape[2]), g.dtype)
        for ky, kx, p in places(taps.shape):
            taps[ky, kx, p] = dot(list(w[own, i, ky, kx]), list(flat[b, own, p]))
        out[b, channel] = _added(attrs, kernel, attrs.image, taps)
    return out


def conv2d_weight_grad(attrs: Any, x: Array, g: Array) -> Array:
    n, o, *size = g.shape
    c = x.shape[1] // attrs.groups
    out = np.empty((o, c, *attrs.kernel), x.dtype)
    spots = [(b, place) for b in range(n) for place in places(size)]
    for f, i, *k in places(out.shape):
        channel = f // (o // attrs.groups) * c + i
        gradient = [g[(b, f, *place)] for b, place in spots]
        pixels = [seen(x, b, channel, tap(attrs, place, k, x.shape[2:])) for b, place in spots]
        out[(f, i, *k)] = dot(gradient, pixels)
    return out


def _windows(attrs: Any, x: Array) -> Iterator[tuple[tuple[int, ...], list[Any]]]:
    """Give every place of the result and its pixels in (ky, kx) order."""
    n, c, *image = x.shape
    size = window_places(image, attrs, attrs.kernel)
    for index in places((n, c, *size)):
        yield index, [tap(attrs, index[2:], k, image) for k in places(attrs.kernel)]


def _first_largest(attrs: Any, x: Array) -> Iterator[tuple[tuple[int, ...], tuple[int, int]]]:
    for index, window in _windows(attrs, x):
        pixels = [p for p in window if p is not None]
        best = pixels[0]
        for p in pixels:
            now, value = x[(*index[:2], *best)], x[(*index[:2], *p)]
            if now == now and (value > now or value != value):
                best = p
        yield index, best


def _pooled(attrs: Any, x: Array, dtype: Any) -> Array:
    return np.empty((*x.shape[:2], *window_places(x.shape[2:], attrs, attrs.kernel)), dtype)


def max_pool2d(attrs: Any, x: Array) -> Array:
    out = _pooled(attrs, x, x.dtype)
    for index, pixel in _first_largest(attrs, x):
        out[index] = x[(*index[:2], *pixel)]
    return out


def max_pool2d_indices(attrs: Any, x: Array) -> Array:
    out = _pooled(attrs, x, np.int64)
    for index, (row, col) in _first_largest(attrs, x):
        out[index] = row * x.shape[3] + col
    return out


def max_pool2d_input_grad(attrs: Any, g: Array, x: Array) -> Array:
    out = np.zeros_like(x)
    for index, (row, col) in _first_largest(attrs, x):
        place = (*index[:2], row, col)
        out[place] = out[place] + g[index]
    return out


def max_unpool2d(attrs: Any, g: Array, indices: Array) -> Array:
    out = np.zeros((*g.shape[:2], *attrs.image), g.dtype)
    for n, c, *place in places(g.shape):
        pixel = divmod(int(indices[(n, c, *place)]), attrs.image[1])
        out[(n, c, *pixel)] = out[(n, c, *pixel)] + g[(n, c, *place)]
    return out


def avg_pool2d(attrs: Any, x: Array) -> Array:
    out = _pooled(attrs, x, x.dtype)
    for index, window in _windows(attrs, x):
        total = ZERO
        for pixel in window:
            total = total + seen(x, index[0], index[1], pixel)
        out[index] = total / np.float32(len(window))
    return out


REFERENCE: Final[dict[str, Callable[..., Array]]] = {
    f.__name__: f
    for f in (im2col, col2im, conv2d, conv2d_input_grad, conv2d_weight_grad)
    + (max_pool2d, max_pool2d_indices, max_pool2d_input_grad, max_unpool2d, avg_pool2d)
}
