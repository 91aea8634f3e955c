"""Indexing, movement and random bits by scalars, from rules 21 and 25."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from .reference_elementwise import wrap
from .reference_sums import places
from .values import Array

MASK: Final = 0xFFFFFFFF


def _at(index: Sequence[int], axis: int, value: int) -> tuple[int, ...]:
    return (*index[:axis], value, *index[axis + 1 :])


def gather(attrs: Any, x: Array, index: Array) -> Array:
    out = np.empty(index.shape, x.dtype)
    for i in places(index.shape):
        out[i] = x[_at(i, attrs.axis, int(index[i]))]
    return out


def scatter_add(attrs: Any, src: Array, index: Array) -> Array:
    out = np.zeros(_at(src.shape, attrs.axis, attrs.size), src.dtype)
    for i in places(src.shape):
        target = _at(i, attrs.axis, int(index[i]))
        out[target] = out[target] + src[i]
    return out


def cat(attrs: Any, *arrays: Array) -> Array:
    total = sum(x.shape[attrs.axis] for x in arrays)
    out = np.empty(_at(arrays[0].shape, attrs.axis, total), arrays[0].dtype)
    first = 0
    for x in arrays:
        for i in places(x.shape):
            out[_at(i, attrs.axis, first + i[attrs.axis])] = x[i]
        first += x.shape[attrs.axis]
    return out


def pad(attrs: Any, x: Array, value: Array) -> Array:
    dims = zip(x.shape, attrs.low, attrs.high, attrs.interior, strict=True)
    out = np.empty([lo + d + max(d - 1, 0) * gap + hi for d, lo, hi, gap in dims], x.dtype)
    out.fill(value[()])
    for i in places(x.shape):
        steps = zip(i, attrs.low, attrs.interior, strict=True)
        out[tuple(lo + at * (gap + 1) for at, lo, gap in steps)] = x[i]
    return out


def contiguous(attrs: Any, x: Array) -> Array:
    out = np.empty(x.shape, x.dtype)
    for i in places(x.shape):
        out[i] = x[i]
    return out


def arange(attrs: Any, start: Array, step: Array) -> Array:
    numbers = [wrap(int(start) + i * int(step), np.int64) for i in range(attrs.length)]
    return np.array(numbers, np.int64)


def philox(counter: Sequence[int], key: Sequence[int]) -> tuple[int, int, int, int]:
    """Philox4x32-10 of one counter, on Python integers."""
    (a, b, c, d), (k0, k1) = counter, key
    for _ in range(10):
        left, right = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b = (right >> 32) ^ b ^ k0, right & MASK
        c, d = (left >> 32) ^ d ^ k1, left & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return a, b, c, d


def random_bits(attrs: Any, seed: Array, offset: Array) -> Array:
    key = (int(seed) & MASK, int(seed) >> 32 & MASK)
    stream = (int(offset) & MASK, int(offset) >> 32 & MASK)
    out = np.empty(attrs.shape, np.int32)
    for i, index in enumerate(places(attrs.shape)):
        block, word = divmod(i, 4)
        words = philox((block & MASK, block >> 32, *stream), key)
        out[index] = words[word] >> (32 - attrs.bits)
    return out


REFERENCE: Final[dict[str, Callable[..., Array]]] = {
    f.__name__: f for f in (gather, scatter_add, cat, pad, contiguous, arange, random_bits)
}
