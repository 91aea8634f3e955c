"""Reductions and scans in the contract's order, whatever the layout of their input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
LANES: Final = 32
CHUNK: Final = 1024


def _rows(x: Array, axes: Sequence[int]) -> tuple[Array, tuple[int, ...]]:
    """Bring the reduced axes, row-major, to the end: (outer, n), and the shape of the rest."""
    kept = [a for a in range(x.ndim) if a not in axes]
    shape = tuple(x.shape[a] for a in kept)
    outer = int(np.prod(shape, dtype=np.int64))
    n = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    return x.transpose([*kept, *axes]).reshape((outer, n)), shape


def _padded(x: Array, multiple: int, value: float) -> Array:
    """Pad the last axis up to a multiple (at least one)."""
    outer, n = x.shape
    size = max(-(-n // multiple), 1) * multiple
    if size == n:
        return np.ascontiguousarray(x)
    wide = np.full((outer, size), value, x.dtype)
    wide[:, :n] = x
    return wide


def sum(x: Array, axes: Sequence[int]) -> Array:
    """Sum over axes: 32 lanes in chunks of 1024, folded by halves; chunk results likewise."""
    rows, shape = _rows(x, axes)
    if x.dtype.kind != "f":
        total: Array = np.add.reduce(rows, axis=1, dtype=x.dtype)
        return total.reshape(shape)
    while True:
        rows = _chunk_sums(rows)
        if rows.shape[1] == 1:
            return rows.reshape(shape)


def _chunk_sums(rows: Array) -> Array:
    """Give the sums of the chunks: (outer, n) → (outer, number of chunks)."""
    size = CHUNK if rows.shape[1] > CHUNK else LANES
    wide = _padded(rows, size, 0.0)
    outer = wide.shape[0]
    # Below a whole chunk the lanes hold fewer elements; what is missing would add +0.
    chunks = wide.shape[1] // CHUNK if size == CHUNK else 1
    steps = wide.shape[1] // (chunks * LANES)
    parts = wide.reshape((outer, chunks, steps, LANES)).transpose(2, 3, 0, 1)
    lanes = np.zeros(parts.shape[1:], rows.dtype)
    for step in parts:
        lanes += step
    return _folded(lanes)


def _folded(lanes: Array) -> Array:
    half = LANES // 2
    while half:
        lanes = lanes[:half] + lanes[half : 2 * half]
        half //= 2
    total: Array = lanes[0]
    return total


def prod(x: Array, axes: Sequence[int]) -> Array:
    """Product over axes by a tree of neighbouring pairs, an odd end multiplied by 1."""
    rows, shape = _rows(x, axes)
    rows = _padded(rows, 1, 1)
    while rows.shape[1] > 1:
        rows = _padded(rows, 2, 1)
        rows = rows[:, 0::2] * rows[:, 1::2]
    return np.ascontiguousarray(rows).reshape(shape)


def _ordered(x: Array) -> Array:
    """Map floats to int32 in the contract's order: −∞ < … < −0 < +0 < … < ∞ < NaN."""
    if x.dtype.kind != "f":
        return x
    bits = np.ascontiguousarray(x).view(np.int32)
    keys = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
    return np.where(np.isnan(x), np.int32(0x7FFFFFFF), keys)


def _extreme(x: Array, axes: Sequence[int], largest: bool) -> Array:
    rows, shape = _rows(x, axes)
    keys = _ordered(rows)
    if not largest and x.dtype.kind == "f":
        keys = np.where(np.isnan(rows), np.int32(-0x80000000), keys)
    at = (np.argmax if largest else np.argmin)(keys, axis=1)
    return np.take_along_axis(rows, at[:, None], 1).reshape(shape)


def amax(x: Array, axes: Sequence[int]) -> Array:
    """Largest over axes; NaN if one is NaN; −0 < +0."""
    return _extreme(x, axes, True)


def amin(x: Array, axes: Sequence[int]) -> Array:
    """Smallest over axes; NaN if one is NaN; −0 < +0."""
    return _extreme(x, axes, False)


def _first(x: Array, axis: int, largest: bool) -> Array:
    rows, shape = _rows(x, (axis,))
    best = (np.max if largest else np.min)(rows, axis=1, keepdims=True)
    # A NaN makes every extreme NaN, and then the first NaN is meant.
    hits: Array = (rows == best) | (rows != rows)
    at: Array = np.argmax(hits, axis=1)
    return at.astype(np.int64).reshape(shape)


def argmax(x: Array, axis: int) -> Array:
    """Index of the first largest; NaN is the largest; −0 equals +0."""
    return _first(x, axis, True)


def argmin(x: Array, axis: int) -> Array:
    """Index of the first smallest; NaN is the smallest; −0 equals +0."""
    return _first(x, axis, False)


def cumsum(x: Array, axis: int) -> Array:
    """Running sum: sequential in chunks of 1024; the chunk totals are added up sequentially."""
    rows, _ = _rows(x, (axis,))
    outer, n = rows.shape
    wide = _padded(rows, CHUNK, 0)
    parts = wide.reshape((outer, wide.shape[1] // CHUNK, CHUNK))
    prefix = np.zeros(parts.shape, x.dtype)
    running = np.zeros(parts.shape[:2], x.dtype)
    for i in range(CHUNK):
        running = running + parts[:, :, i]
        prefix[:, :, i] = running
    offset = np.zeros(outer, x.dtype)
    for c in range(parts.shape[1]):
        total = prefix[:, c, -1].copy()
        prefix[:, c] += offset[:, None]
        offset = offset + total
    return _unrow(prefix.reshape(wide.shape)[:, :n], x, axis)


def argsort(x: Array, axis: int, descending: bool) -> Array:
    """Indices that sort; stable both ways; NaN is the largest; −0 equals +0."""
    rows, _ = _rows(x, (axis,))
    keys = rows
    if x.dtype.kind == "f":
        keys = _ordered(rows + rows.dtype.type(0)).astype(np.int64)  # −0 + 0 is +0
    if descending:
        keys = ~keys
    return _unrow(np.argsort(keys, axis=1, kind="stable").astype(np.int64), x, axis)


def _unrow(rows: Array, x: Array, axis: int) -> Array:
    """Undo `_rows` for one axis that was kept."""
    rest = [d for i, d in enumerate(x.shape) if i != axis]
    return np.ascontiguousarray(np.moveaxis(rows.reshape((*rest, x.shape[axis])), -1, axis))
