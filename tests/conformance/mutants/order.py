"""Sums in another order than the contract's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from mutants.base import Altered, floats_only
from mutants.products import product
from vkml_backend_cpu.kernels import matmul, reduce
from vkml_core.backend import Array


def pairwise(attrs: Any, x: Array) -> Array:
    """A sum is a tree over neighbours, as a reduction written for another library is."""
    kept = [a for a in range(x.ndim) if a not in attrs.axes]
    shape = tuple(x.shape[a] for a in kept)
    n = int(np.prod([x.shape[a] for a in attrs.axes], dtype=np.int64))
    width = 1 << max(n - 1, 0).bit_length()
    tree = np.zeros((*shape, width), x.dtype)
    tree[..., :n] += x.transpose([*kept, *attrs.axes]).reshape((*shape, n))
    while tree.shape[-1] > 1:
        tree = tree[..., 0::2] + tree[..., 1::2]
    return np.array(tree[..., 0], order="C")


def chunks_in_order(attrs: Any, x: Array) -> Array:
    """Workgroups sum chunks as they should; what they found is added up one after the other.

    With up to two chunks that is the same, so it shows only where n > 2048.
    """
    kept = [a for a in range(x.ndim) if a not in attrs.axes]
    shape = tuple(x.shape[a] for a in kept)
    n = int(np.prod([x.shape[a] for a in attrs.axes], dtype=np.int64))
    rows = x.transpose([*kept, *attrs.axes]).reshape((*shape, n))
    total = np.zeros(shape, x.dtype)
    for start in range(0, n, reduce.CHUNK):
        total = total + reduce.sum(rows[..., start : start + reduce.CHUNK], (len(shape),))
    return np.asarray(total)


def _last_first(parts: Sequence[Array], zeros: Array) -> Array:
    return sum(reversed(parts), zeros)


def split_k(attrs: Any, a: Array, b: Array) -> Array:
    """Workgroups share K and add their parts in the order in which they end: here the last first.

    Two parts have the same sum in either order, so it shows only where K > 1024.
    """
    return product(a, b, combine=_last_first)


LARGE_BATCH: Final = 48
"""Rows from which on the other kernel is taken."""


def by_batch(attrs: Any, a: Array, b: Array) -> Array:
    """Many rows are multiplied by another kernel, which adds even and odd k apart."""
    if a.shape[-2] < LARGE_BATCH:
        return matmul.matmul(a, b)
    even = product(a[..., 0::2], b[..., 0::2, :])
    return even + product(a[..., 1::2], b[..., 1::2, :])


reduction = Altered("reduction", {"sum": floats_only("sum", pairwise)})
chunks = Altered("chunks", {"sum": floats_only("sum", chunks_in_order)})
split = Altered("split", {"matmul": floats_only("matmul", split_k)})
batch = Altered("batch", {"matmul": floats_only("matmul", by_batch)})
