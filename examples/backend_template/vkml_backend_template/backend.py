"""The backend template: a table of NumPy functions, one for each operation that it runs.

A kernel is called as `kernel(attrs, *arrays)` and gives a new array with the bits that vkml's
docs/numerics.md asks for (the rules named below are there). Arrays are read-only and lie in memory
as they like; float16 comes as float32, and vkml narrows it. What has no row here is unsupported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkml_core.errors import IndexError_
from vkml_core.table_backend import table_backend

Array = npt.NDArray[Any]
LANES, CHUNK, CHUNK_OF_K = 32, 1024, 512


def reduce(x: Array, axes: Sequence[int], rule: Callable[[Array], Array]) -> Array:
    """Bring the reduced axes to the end and apply a rule to (rows, elements of a row)."""
    kept = [a for a in range(x.ndim) if a not in axes]
    shape, n = [x.shape[a] for a in kept], math.prod(x.shape[a] for a in axes)
    return rule(x.transpose([*kept, *axes]).reshape((math.prod(shape), n))).reshape(shape)


def add_up(rows: Array) -> Array:
    """Add up rows in the contract's order (rule 16): 32 lanes, chunks of 1024, chunks of those."""
    if rows.dtype.kind != "f":
        total: Array = np.add.reduce(rows, axis=1, dtype=rows.dtype)
        return total
    count, n = rows.shape
    chunks, steps = (-(-n // CHUNK), CHUNK // LANES) if n > CHUNK else (1, -(-n // LANES))
    wide = np.pad(rows, ((0, 0), (0, chunks * steps * LANES - n)))
    parts = wide.reshape((count, chunks, steps, LANES))
    lanes = np.zeros((count, chunks, LANES), rows.dtype)
    for step in range(steps):
        lanes += parts[:, :, step]
    while lanes.shape[2] > 1:
        half = lanes.shape[2] // 2
        lanes = lanes[:, :, :half] + lanes[:, :, half:]
    return lanes[:, 0, 0] if chunks == 1 else add_up(lanes[:, :, 0])


def larger(a: Array, b: Array) -> Array:
    """Take a where it is larger; NaN wins and −0 < +0 (rule 11)."""
    return np.where((a > b) | ((a == b) & ~np.signbit(a)) | (a != a), a, b)


def smaller(a: Array, b: Array) -> Array:
    """Take a where it is smaller; NaN wins and −0 < +0 (rule 11)."""
    return np.where((a < b) | ((a == b) & np.signbit(a)) | (a != a), a, b)


def extreme(rows: Array, choose: Callable[[Array, Array], Array]) -> Array:
    """Choose from each row, half against half: here the order is free."""
    while (n := rows.shape[1]) > 1:
        rows = np.hstack(
            [choose(rows[:, : n // 2], rows[:, -(n // 2) :]), rows[:, n // 2 : -(n // 2)]]
        )
    return rows[:, 0]


def first(rows: Array, best: Any) -> Array:
    """Find the first extreme of each row; a NaN is one (rule 22)."""
    hits = (rows == best(rows, axis=1, keepdims=True)) | (rows != rows)
    places: Array = np.argmax(hits, axis=1)
    return places


def matmul(attrs: Any, a: Array, b: Array) -> Array:
    """Multiply, then add, k by k, in chunks of 512 (rule 19). Not `a @ b`: its order is another."""
    total = np.zeros((*a.shape[:-1], b.shape[-1]), a.dtype)
    for start in range(0, a.shape[-1], CHUNK_OF_K):
        chunk = np.zeros_like(total)
        for k in range(start, min(start + CHUNK_OF_K, a.shape[-1])):
            chunk += a[..., :, k : k + 1] * b[..., k : k + 1, :]
        total += chunk
    return total


def gather(attrs: Any, x: Array, index: Array) -> Array:
    """Pick elements along an axis; every backend raises the same error for a wrong index."""
    axis, size = attrs.axis, x.shape[attrs.axis]
    wrong = (index < 0) | (index >= size)
    if wrong.any():
        told = f"index {index[wrong][0]} is out of range for axis {axis} with size {size}"
        raise IndexError_(f"gather: {told}")
    return np.take_along_axis(x, index.astype(np.int64), axis)


def pad(attrs: Any, x: Array, value: Array) -> Array:
    """Put a value before, after and between the elements."""
    inner = [n + max(n - 1, 0) * i for n, i in zip(x.shape, attrs.interior, strict=True)]
    sides = list(zip(attrs.low, inner, attrs.high, attrs.interior, strict=True))
    out = np.full([low + n + high for low, n, high, _ in sides], value, x.dtype)
    out[tuple(slice(low, low + n, i + 1) for low, n, _, i in sides)] = x
    return out


def cast(attrs: Any, x: Array) -> Array:
    """Convert: floats to integers truncate and saturate, NaN is 0 (rule 6)."""
    to = attrs.dtype.numpy
    if to.kind == "b":
        return np.not_equal(x, 0)
    if to.kind == "i" and x.dtype.kind == "f":
        wide, bounds = np.nan_to_num(x.astype(np.float64)), np.iinfo(to)
        whole = np.where(np.abs(wide) < -float(bounds.min), wide, 0).astype(to)
        whole[wide >= -float(bounds.min)] = bounds.max
        whole[wide <= float(bounds.min)] = bounds.min
        return whole
    return x.astype(np.float32 if to.kind == "f" else to)


PLAIN: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "abs": np.abs,
    "relu": lambda x: np.where((x > 0) | (x != x), x, x.dtype.type(0)),
    "sqrt": np.sqrt,
    "reciprocal": lambda x: np.float32(1) / x,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "maximum": larger,
    "minimum": smaller,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "where": np.where,
    "contiguous": np.array,
}
"""What takes no attributes. NumPy rounds these as IEEE 754 does, which is what the rules say."""


def plain(function: Callable[..., Array]) -> Callable[..., Array]:
    """Make a kernel of a function that takes no attributes."""
    return lambda attrs, *arrays: function(*arrays)


TABLE: dict[str, Callable[..., Array]] = {
    **{op: plain(function) for op, function in PLAIN.items()},
    "cast": cast,
    "sum": lambda attrs, x: reduce(x, attrs.axes, add_up),
    "amax": lambda attrs, x: reduce(x, attrs.axes, lambda rows: extreme(rows, larger)),
    "amin": lambda attrs, x: reduce(x, attrs.axes, lambda rows: extreme(rows, smaller)),
    "argmax": lambda attrs, x: reduce(x, [attrs.axis], lambda rows: first(rows, np.max)),
    "argmin": lambda attrs, x: reduce(x, [attrs.axis], lambda rows: first(rows, np.min)),
    "matmul": matmul,
    "gather": gather,
    "cat": lambda attrs, *arrays: np.concatenate(arrays, attrs.axis),
    "pad": pad,
    "arange": lambda attrs, start, step: start + np.arange(attrs.length) * step,
}
"""Names of `vkml_core.ops.spec.REGISTRY` and what computes them. Delete a row, and a graph that
needs it says so; break one, and `vkml-conformance run --backend template` shows where."""

BACKEND = table_backend("template", TABLE, api_version=(1, 2), device_name="NumPy functions")
