"""Convolution and its gradients: matrix products over the windows of an image.

With k = (channel, ky, kx) inside a group, ``conv2d`` is the product of the weight (O, K) and
``im2col``; padding contributes ``0 * w``. The windows of one block of images at a time are
written out, which leaves the order of the sums, and so every bit, as it is.
"""

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .matmul import CHUNK, TILE, chunk_sums, contract, split_chunks
from .threads import parallel
from .windows import Pair, Windows

Array = NDArray[Any]


def im2col(x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Array:
    """Return the windows of ``x`` (N, C, H, W) as columns (N, C * kh * kw, oh * ow)."""
    view = Windows(kernel, stride, padding, dilation).view(x)
    images, channels, oh, ow, kh, kw = view.shape
    columns = np.array(view.transpose(0, 1, 4, 5, 2, 3), order="C")
    return columns.reshape(images, channels * kh * kw, oh * ow)


def col2im(
    cols: Array, image: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> Array:
    """Add columns (N, C * kh * kw, oh * ow) to the pixels they came from, (N, C, H, W).

    A pixel is the sum of its contributions in the order of (ky, kx), from +0.
    """
    windows = Windows(kernel, stride, padding, dilation)
    channels = cols.shape[1] // (kernel[0] * kernel[1])
    split = cols.reshape(len(cols), channels, *kernel, *windows.output(image))
    return _add_taps(split.transpose(2, 3, 0, 1, 4, 5), image, windows)


def conv2d(
    x: Array, w: Array, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Array:
    """Convolve ``x`` (N, C, H, W) with ``w`` (O, C / groups, kh, kw); no bias.

    Returns (N, O, oh, ow).
    """
    view = Windows((w.shape[2], w.shape[3]), stride, padding, dilation).view(x)
    images, channels, oh, ow, kh, kw = view.shape
    view = view.reshape(images, groups, channels // groups, oh, ow, kh, kw)
    view = view.transpose(2, 5, 6, 1, 0, 3, 4)
    filters = len(w)
    left = w.reshape(groups, filters // groups, view.shape[0] * kh * kw).transpose(2, 0, 1)
    out = np.empty((images, filters, oh, ow), x.dtype)

    def run(block: tuple[slice, slice]) -> None:
        part = view[..., block[0], block[1], :]
        right = np.ascontiguousarray(part).reshape(len(left), groups, part[0, 0, 0, 0].size)
        sums = np.empty((groups, filters // groups, right.shape[-1]), x.dtype)
        contract(left, right, sums)
        out[block[0], :, block[1]] = sums.reshape(filters, *part.shape[4:]).swapaxes(0, 1)

    width = max(256, TILE // max(1, filters))
    each = max(1, width // max(1, oh * ow))
    rows = max(1, min(oh, width // max(1, ow)))
    for _ in parallel(run, list(product(_blocks(images, each), _blocks(oh, rows)))):
        pass
    return out


def conv2d_input_grad(
    g: Array, w: Array, input_size: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Array:
    """Return the gradient of ``conv2d``'s input, (N, C, H, W) with (H, W) = ``input_size``.

    ``col2im`` of the product over a group's filters of the weight and ``g`` (N, O, oh, ow).
    """
    images, filters, oh, ow = g.shape
    channels, kh, kw = w.shape[1:]
    windows = Windows((kh, kw), stride, padding, dilation)
    left = w.reshape(groups, filters // groups, channels, kh, kw).swapaxes(0, 1)
    right = g.reshape(images, groups, filters // groups, oh, ow).transpose(2, 1, 0, 3, 4)
    out = np.empty((images, groups, channels, *input_size), g.dtype)

    def run(block: tuple[slice, slice, slice]) -> None:
        batch, group, channel = block
        taps, part = left[:, group, channel], right[:, group, batch]
        a = taps.reshape(*taps.shape[:2], taps[0, 0].size)
        b = np.ascontiguousarray(part).reshape(*part.shape[:2], part[0, 0].size)
        sums = np.empty((a.shape[1], a.shape[2], b.shape[2]), g.dtype)
        contract(a, b, sums)
        split = sums.reshape(*taps.shape[1:], *part.shape[2:]).transpose(2, 3, 4, 0, 1, 5, 6)
        out[block] = _add_taps(split, input_size, windows)

    each = max(1, 1024 // max(1, oh * ow))
    budget = max(1, TILE // max(1, kh * kw * each * oh * ow))
    blocks = (
        _blocks(images, each),
        _blocks(groups, max(1, budget // max(1, channels))),
        _blocks(channels, budget),
    )
    for _ in parallel(run, list(product(*blocks))):
        pass
    return out.reshape(images, groups * channels, *input_size)


def conv2d_weight_grad(
    x: Array, g: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Array:
    """Return the gradient of ``conv2d``'s weight, (O, C / groups, kh, kw).

    The sum over (n, oy, ox) of ``g`` (N, O, oh, ow) times the windows of ``x``, in chunks of 512.
    """
    images, filters, oh, ow = g.shape
    channels, taps = x.shape[1] // groups, kernel[0] * kernel[1]
    # Channels innermost, so that a window is copied in long runs; put back at the end.
    x = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    view = Windows(kernel, stride, padding, dilation).view(x).transpose(0, 2, 3, 4, 5, 1)
    rows = g.transpose(0, 2, 3, 1).reshape(-1, groups, filters // groups)

    def panels(span: slice) -> tuple[Array, Array]:
        line = np.arange(span.start // ow, -(-span.stop // ow))
        part = view[line // oh, line % oh].reshape(-1, taps, groups, channels)
        first = line[0] * ow
        part = part[span.start - first : span.stop - first].swapaxes(1, 2)
        return rows[span], np.ascontiguousarray(part).reshape(len(part), groups, -1)

    def run(span: slice) -> Array:
        left, right = panels(span)
        if len(left) % CHUNK:
            return chunk_sums(left, right)[None]
        return chunk_sums(split_chunks(left), split_chunks(right))

    out = np.zeros((groups, filters // groups, taps * channels), x.dtype)
    whole = len(rows) - len(rows) % CHUNK
    spans = _blocks(whole, CHUNK * max(1, TILE // max(1, out.size)))
    for sums in parallel(run, spans + _blocks(len(rows), CHUNK, whole)):
        for chunk in sums:
            out += chunk
    split = out.reshape(filters, *kernel, channels).transpose(0, 3, 1, 2)
    return np.array(split, order="C")


def _add_taps(cols: Array, image: Pair, windows: Windows) -> Array:
    """Add ``cols`` (kh, kw, ..., oh, ow) tap by tap to an image (..., H, W) of +0."""
    out = np.zeros((*cols.shape[2:-2], *image), cols.dtype)
    for tap, outputs, inputs in windows.taps(image):
        pixels = out[(..., *inputs)]
        pixels += cols[tap][(..., *outputs)]
    return out


def _blocks(size: int, block: int, start: int = 0) -> list[slice]:
    return [slice(first, min(first + block, size)) for first in range(start, size, block)]
