"""The backend template: a table of NumPy functions, one for each operation that it runs.

A kernel is called as `kernel(attrs, *arrays)` and gives an array with the bits that vkml's
docs/numerics.md asks for (the rules named below are there). Arrays are read-only and lie in memory
as they like; float16 comes as float32, and vkml narrows it. What has no row here is unsupported.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vkml_core.table_backend import table_backend

Array = npt.NDArray[Any]
Kernel = Callable[..., Array]
LANES, CHUNK, CHUNK_OF_K = 32, 1024, 512


def rows_of(x: Array, axes: tuple[int, ...]) -> Array:
    """Bring the axes that are reduced to the end, as one."""
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    n = math.prod(x.shape[a] for a in axes)
    return x.transpose(kept + axes).reshape((*(x.shape[a] for a in kept), n))


def add_up(rows: Array) -> Array:
    """Add up rows in the contract's order (rule 16): 32 lanes, chunks of 1024, chunks of those."""
    if rows.dtype.kind == "i":
        return np.asarray(np.add.reduce(rows, axis=-1, dtype=rows.dtype))
    n = rows.shape[-1]
    width = CHUNK if n > CHUNK else LANES * max(1, -(-n // LANES))
    chunks = max(1, -(-n // width))
    padded = np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, chunks * width - n)])
    parts = padded.reshape((*rows.shape[:-1], chunks, width // LANES, LANES))
    lanes = np.zeros_like(parts[..., 0, :])
    for step in range(width // LANES):
        lanes += parts[..., step, :]
    while (half := lanes.shape[-1] // 2) > 0:
        lanes = lanes[..., :half] + lanes[..., half:]
    return add_up(lanes[..., 0]) if chunks > 1 else lanes[..., 0, 0]


def larger(a: Array, b: Array) -> Array:
    """Take a where it is larger; NaN wins and −0 < +0 (rule 11)."""
    return np.where((a > b) | ((a == b) & ~np.signbit(a)) | (a != a), a, b)


def amax(attrs: Any, x: Array) -> Array:
    """Compare element by element: for extremes the order is free."""
    return functools.reduce(larger, np.moveaxis(rows_of(x, attrs.axes), -1, 0))


def matmul(attrs: Any, a: Array, b: Array) -> Array:
    """Multiply, then add, k by k, in chunks of 512 (rule 19). Not `a @ b`: its order is another."""
    total = np.zeros((*a.shape[:-1], b.shape[-1]), a.dtype)
    for start in range(0, a.shape[-1], CHUNK_OF_K):
        chunk = np.zeros_like(total)
        for k in range(start, min(start + CHUNK_OF_K, a.shape[-1])):
            chunk += a[..., :, k : k + 1] * b[..., k : k + 1, :]
        total += chunk
    return total


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
    if to.kind == "f" or x.dtype.kind != "f":
        return x.astype(np.float32 if to.kind == "f" else to)
    bounds, limit = np.iinfo(to), -float(np.iinfo(to).min)
    whole = np.where(np.abs(x) < limit, x, 0).astype(to)
    return np.where(x >= limit, bounds.max, np.where(x <= -limit, bounds.min, whole))


def plain(function: Kernel) -> Kernel:
    """Make a kernel of a function that takes no attributes."""
    return lambda attrs, *arrays: function(*arrays)


TABLE: dict[str, Kernel] = {
    "add": plain(np.add),
    "sub": plain(np.subtract),
    "mul": plain(np.multiply),
    "div": plain(np.divide),
    "neg": plain(np.negative),
    "abs": plain(np.abs),
    "sqrt": plain(np.sqrt),
    "floor": plain(np.floor),
    "relu": plain(lambda x: np.where((x > 0) | (x != x), x, x.dtype.type(0))),
    "maximum": plain(larger),
    "equal": plain(np.equal),
    "less": plain(np.less),
    "greater": plain(np.greater),
    "isnan": plain(np.isnan),
    "isinf": plain(np.isinf),
    "where": plain(np.where),
    "cast": cast,
    "sum": lambda attrs, x: add_up(rows_of(x, attrs.axes)),
    "amax": amax,
    "matmul": matmul,
    "cat": lambda attrs, *arrays: np.concatenate(arrays, attrs.axis),
    "pad": pad,
    "arange": lambda attrs, start, step: start + np.arange(attrs.length) * step,
    "contiguous": plain(np.array),
}
"""Names of `vkml_core.ops.spec.REGISTRY` and what computes them. Delete a row, and a graph that
needs it says so; break one, and `vkml-conformance run --backend template` shows where."""

BACKEND = table_backend("template", TABLE, api_version=(1, 2), device_name="NumPy functions")
