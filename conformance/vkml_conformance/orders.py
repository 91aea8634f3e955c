"""Faulty ways to add: with fused multiply-adds, or in an order that is not the contract's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from vkml_backend_cpu.kernels.matmul import CHUNK
from vkml_conformance.values import Array
from vkml_conformance.variants import Product, Rows, floats_only, products
from vkml_core.stepwise import Kernel

Total = Callable[[Array], Array]
"""The sums of rows: (outer, n) → (outer,)."""


def fma(a: Array, b: Array, c: Array) -> Array:
    """Give a·b + c of float32, rounded once.

    The product is exact in float64. The sum is rounded to odd there, so that the second rounding
    gives what one alone would.
    """
    p, c64 = np.float64(a) * np.float64(b), np.float64(c)
    s = np.asarray(p + c64)
    back = s - p
    error = (p - (s - back)) + (c64 - back)
    even = np.ascontiguousarray(s).view(np.uint64).reshape(s.shape) & np.uint64(1) == 0
    odd = np.nextafter(s, np.where(error > 0, np.inf, -np.inf))
    return np.where((error != 0) & even & np.isfinite(s), odd, s).astype(np.float32)


def _chain(a: Array, b: Array, *, fused: bool = False, backwards: bool = False) -> Array:
    """Multiply (…, M, K) by (…, K, N) in one chain over k, without chunks."""
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    acc: Array = np.zeros(shape, a.dtype)
    ks = range(a.shape[-1])
    for k in reversed(ks) if backwards else ks:
        left, right = a[..., :, k, None], b[..., None, k, :]
        acc = fma(left, right, acc) if fused else acc + left * right
    return acc


def _chunks(a: Array, b: Array, size: int, fused: bool) -> Iterator[Array]:
    for start in range(0, a.shape[-1], size):
        k = slice(start, start + size)
        yield _chain(a[..., k], b[..., k, :], fused=fused)


def _chunked(
    a: Array, b: Array, *, size: int = CHUNK, fused: bool = False, last_first: bool = False
) -> Array:
    """Multiply in chunks of k, whose results are added up in order."""
    parts = list(_chunks(a, b, size, fused)) or [_chain(a, b)]
    total: Array = np.zeros_like(parts[0])
    for part in reversed(parts) if last_first else parts:
        total = total + part
    return total


def _wide(a: Array, b: Array) -> Array:
    return np.asarray(np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype))


def _sums(total: Total) -> Rows:
    """Give the row `sum`, made of sums of rows in another order."""

    def kernel(attrs: Any, x: Array) -> Array:
        kept = [a for a in range(x.ndim) if a not in attrs.axes]
        shape = tuple(x.shape[a] for a in kept)
        n = int(np.prod([x.shape[a] for a in attrs.axes]))
        rows = x.transpose([*kept, *attrs.axes]).reshape((int(np.prod(shape)), n))
        return total(rows).astype(x.dtype).reshape(shape)

    return {"sum": floats_only("sum", kernel)}


def _folded(rows: Array, lanes: int) -> Array:
    """Sum rows in lanes that are folded by halves, without chunks."""
    outer, n = rows.shape
    wide = np.zeros((outer, max(-(-n // lanes), 1) * lanes), rows.dtype)
    wide[:, :n] = rows
    parts = np.zeros((outer, lanes), rows.dtype)
    for start in range(0, wide.shape[1], lanes):
        parts = parts + wide[:, start : start + lanes]
    while lanes > 1:
        lanes //= 2
        parts = parts[:, :lanes] + parts[:, lanes : 2 * lanes]
    total: Array = parts[:, 0]
    return total


def _tree(rows: Array) -> Array:
    return _folded(rows, 2 ** max(rows.shape[1] - 1, 0).bit_length())


def _one_by_one(rows: Array) -> Array:
    total: Array = np.zeros(rows.shape[0], rows.dtype)
    for i in range(rows.shape[1]):
        total = total + rows[:, i]
    return total


def _along(name: str, kernel: Callable[[Array, int], Array]) -> Rows:
    """Give a row with one axis, as this kernel computes it."""
    return {name: floats_only(name, lambda attrs, x: kernel(x, attrs.axis))}


def _product(attrs: Any, x: Array) -> Array:
    return np.asarray(np.multiply.reduce(x, axis=attrs.axes, dtype=x.dtype))


def contracting() -> Rows:
    """Give `mul`, `add` and `sub` of a device that contracts a product and the sum it goes into.

    A product keeps its operands for as long as the table lives.
    """
    made: dict[int, tuple[Array, Array, Array]] = {}

    def mul(attrs: Any, a: Array, b: Array) -> Array:
        out = np.array(a * b, order="C")
        made[id(out)] = (out, np.array(a), np.array(b))
        return out

    def find(x: Array) -> tuple[Array, Array] | None:
        kept = made.get(id(x.base))
        same = kept is not None and x.shape == kept[0].shape and x.strides == kept[0].strides
        return kept[1:] if kept is not None and same else None

    def add(attrs: Any, a: Array, b: Array) -> Array:
        for x, y in ((a, b), (b, a)):
            if (pair := find(x)) is not None:
                return fma(*pair, y)
        return a + b

    def sub(attrs: Any, a: Array, b: Array) -> Array:
        if (pair := find(a)) is not None:
            return fma(*pair, -b)
        pair = find(b)
        return a - b if pair is None else fma(-pair[0], pair[1], a)

    rows: dict[str, Kernel] = {"mul": mul, "add": add, "sub": sub}
    return {name: floats_only(name, kernel) for name, kernel in rows.items()}


def _both(product: Product) -> Rows:
    return {**contracting(), **products(product)}


_FUSED: Final[Product] = partial(_chunked, fused=True)
FUSED: Final[tuple[Callable[[], Rows], ...]] = (
    lambda: _both(_FUSED),
    lambda: products(_FUSED),
    contracting,
    lambda: _both(partial(_chain, fused=True)),
)
"""Makers of tables that fuse: everywhere, in products alone, outside them, without chunks."""

ORDERS: Final[dict[str, Callable[[], Rows]]] = {
    "one after another": lambda: {
        **_sums(_one_by_one),
        **products(_chain),
        **_along("cumsum", lambda x, axis: np.cumsum(x + x.dtype.type(0), axis)),
        "prod": floats_only("prod", _product),
    },
    "last first": lambda: {
        **_sums(lambda rows: _one_by_one(rows[:, ::-1])),
        **products(partial(_chain, backwards=True)),
    },
    "lanes without chunks": lambda: _sums(lambda rows: _folded(rows, 32)),
    "16 lanes": lambda: _sums(lambda rows: _folded(rows, 16)),
    "64 lanes": lambda: _sums(lambda rows: _folded(rows, 64)),
    "a tree": lambda: _sums(
        lambda rows: _folded(rows, 2 ** max(rows.shape[1] - 1, 0).bit_length())
    ),
    "NumPy's pairwise sum": lambda: _sums(lambda rows: np.ascontiguousarray(rows).sum(1)),
    "chunks combined last first": lambda: products(partial(_chunked, last_first=True)),
    "chunks of 256": lambda: products(partial(_chunked, size=256)),
    "NumPy's matmul": lambda: products(np.matmul),
    "in float64": lambda: {**_sums(lambda rows: rows.sum(1, np.float64)), **products(_wide)},
}
"""Makers of tables that add in another order, by the name of the order."""
