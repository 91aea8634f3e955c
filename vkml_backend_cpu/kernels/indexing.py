"""Reading and adding at indices, in source order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkml_core.errors import IndexError_

Array = npt.NDArray[Any]


def _check(op: str, index: Array, axis: int, size: int) -> None:
    wrong = (index < 0) | (index >= size)
    if wrong.any():
        value = index[wrong][0]
        raise IndexError_(f"{op}: index {value} is out of range for axis {axis} with size {size}")


def gather(x: Array, index: Array, axis: int) -> Array:
    """Pick elements along an axis."""
    _check("gather", index, axis, x.shape[axis])
    return np.ascontiguousarray(np.take_along_axis(x, index.astype(np.int64), axis))


def scatter_add(src: Array, index: Array, axis: int, size: int) -> Array:
    """Add sources at indices along an axis of zeros, for each target in source order."""
    _check("scatter_add", index, axis, size)
    moved = np.moveaxis(src, axis, -1)
    rest = moved.shape[:-1]
    values = moved.reshape(-1)
    rows = np.arange(values.size, dtype=np.int64) // max(src.shape[axis], 1)
    targets = np.moveaxis(index, axis, -1).reshape(-1) + rows * size
    flat = np.zeros(int(np.prod(rest, dtype=np.int64)) * size, src.dtype)
    for chosen in _rounds(targets, flat.size):
        flat[targets[chosen]] += values[chosen]
    return np.ascontiguousarray(np.moveaxis(flat.reshape((*rest, size)), -1, axis))


def _rounds(targets: Array, size: int) -> list[Array]:
    """Split sources into rounds: round r has the r-th source of every target."""
    if targets.size == 0:
        return []
    if np.bincount(targets, minlength=size).max() == 1:
        return [np.arange(targets.size)]
    order = np.argsort(targets, kind="stable")
    ordered = targets[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, targets.size])
    rank = np.arange(targets.size) - np.repeat(starts, lengths)
    by_rank = order[np.argsort(rank, kind="stable")]
    ends = np.cumsum(np.bincount(rank))
    return list(np.split(by_rank, ends[:-1]))
