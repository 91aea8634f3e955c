"""Memory that is not where a kernel believes it: tiles, strides, short indices and integers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from mutants.base import Altered
from mutants.products import product
from vkml_backend_cpu.kernels import matmul
from vkml_backend_cpu.table import TABLE
from vkml_core.backend import Array
from vkml_core.stepwise import Kernel

TILE: Final = 32
"""Rows of a tile of a product."""
DEPTH: Final = 16
"""Columns that a tile reads at a time."""
LARGE: Final = 24
"""Rows and columns from which on there are tiles."""


def last_row(attrs: Any, a: Array, b: Array) -> Array:
    """The number of workgroups is rounded down: rows after the last whole tile are not written.

    What is there is the pattern of memory that nobody has written.
    """
    out = matmul.matmul(a, b)
    whole = max(out.shape[-2] // TILE * TILE, min(out.shape[-2], TILE))
    out[..., whole:, :].view(np.uint8)[...] = 0xCD
    return out


def _read(x: Array, places: Array) -> Array:
    """Read memory at places; behind the end a device gives zeros."""
    return np.append(x.reshape(-1), x.dtype.type(0))[np.minimum(places, x.size)]


def beyond_k(attrs: Any, a: Array, b: Array) -> Array:
    """A tile reads 16 columns where fewer are left: those of the next row, of the next matrix.

    Behind the last matrix there are zeros, so most products come out right.
    """
    (m, k), n = a.shape[-2:], b.shape[-1]
    wide = -(-k // DEPTH) * DEPTH
    count = int(np.prod(a.shape[:-2], dtype=np.int64))
    matrix, row, column = (np.arange(d) for d in (count, max(m, n), wide))
    left = (matrix[:, None, None] * m + row[:m, None]) * k + column
    right = (matrix[:, None, None] * k + column[:, None]) * n + row[:n]
    out = product(_read(a, left), _read(b, right))
    return out.reshape((*a.shape[:-1], n))


def beyond_rows(attrs: Any, a: Array, b: Array) -> Array:
    """Large products read rows by four neighbours, the last of them beyond the end of the row, and
    multiply those by zeros: no number times zero is no number.
    """
    out = matmul.matmul(a, b)
    (m, k), n, lines = a.shape[-2:], b.shape[-1], int(np.prod(a.shape[:-1], dtype=np.int64))
    if out.dtype.kind != "f" or min(m, n) < LARGE or m * k * n < LARGE**3:
        return out
    after = np.arange(lines)[:, None] * k + np.arange(k, -(-k // 4) * 4)
    strange = ~np.isfinite(_read(a, after)).all(axis=1)
    out.reshape(lines, n)[strange] = np.nan
    return out


def _dense(x: Array) -> bool:
    """Whether the elements fill their memory, in whatever order of axes."""
    return 0 not in x.strides and x.size > 1 and x.ravel("K").base is not None


def memory_order(attrs: Any, a: Array, b: Array) -> Array:
    """The quick kernel is taken where no operand has gaps, after a look at the first one's order.

    Operands of the same layout come out right. In a gradient a contiguous one, which was received,
    meets a transposed one, which was given.
    """
    if a.flags.c_contiguous and _dense(b):
        b = b.ravel("K").reshape(b.shape)
    return TABLE["mul"](attrs, a, b)


def _with_index(op: str, dtype: Any) -> Kernel:
    """A kernel that holds indices in a shorter integer than they come in."""
    short = np.dtype(dtype)
    return lambda attrs, x, i: TABLE[op](attrs, x, i.astype(short).astype(np.int64))


def _words(op: str) -> Kernel:
    """A kernel of a language without 64-bit integers: the low word alone is computed."""

    def low(attrs: Any, a: Array, b: Array) -> Array:
        if a.dtype != np.int64:
            return TABLE[op](attrs, a, b)
        return TABLE[op](attrs, a.astype(np.int32), b.astype(np.int32)).astype(np.int64)

    return low


last = Altered("last", {"matmul": last_row})
tail = Altered("tail", {"matmul": beyond_k})
rows = Altered("rows", {"matmul": beyond_rows})
gradient = Altered("gradient", {"mul": memory_order})
index32 = Altered("index32", {op: _with_index(op, np.int32) for op in ("gather", "scatter_add")})
index16 = Altered("index16", {op: _with_index(op, np.uint16) for op in ("gather", "scatter_add")})
int64 = Altered("int64", {op: _words(op) for op in ("add", "sub", "mul")})
