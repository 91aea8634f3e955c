"""Matrix products in the contract's order: rank-one updates in chunks of 512 steps.

An element is ``+0 + chunk 0 + chunk 1 + ...``, and a chunk is ``+0 + a[k] b[k] + a[k+1] b[k+1] + ...``
over its 512 steps, every product and every sum rounded. Neither BLAS nor a NumPy reduction has a
stated order, so one step is one multiplication and one addition of whole tiles.
"""

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .threads import parallel, thread_count

Array = NDArray[Any]

CHUNK = 512
TILE = 32768
"""Elements of a tile: its accumulator and its products stay in a core's second-level cache."""

_ROW = 2048
_SHORT_ROW = 128


def matmul(a: Array, b: Array) -> Array:
    """Return the product of ``a`` (..., M, K) and ``b`` (..., K, N), shape (..., M, N).

    The batch dimensions are equal; float32, int32 or int64 (integers wrap).
    """
    batch, (rows, steps), columns = a.shape[:-2], a.shape[-2:], b.shape[-1]
    shape = (*batch, rows, columns)
    if batch and _repeats(b, len(batch)):  # one matrix for the whole batch: a taller product
        return matmul(a.reshape(-1, steps), b[(0,) * len(batch)]).reshape(shape)
    count = int(np.prod(batch))
    left = a.reshape(count, rows, steps).transpose(2, 0, 1)
    right = b.reshape(count, steps, columns).transpose(1, 0, 2)
    if rows > columns:  # the longer side runs inside
        out = _tiled(right, left).swapaxes(1, 2)
    else:
        out = _tiled(left, right)
    return np.ascontiguousarray(out).reshape(shape)


def contract(left: Array, right: Array, out: Array) -> None:
    """Write the sums over k of ``left[k, g, m] * right[k, g, n]`` to ``out`` (G, M, N).

    Runs inside ``parallel``, as ``chunk_sums`` does.
    """
    out[...] = 0
    whole = len(left) - len(left) % CHUNK
    group = CHUNK * max(1, TILE // max(1, out.size))
    for start in range(0, whole, group):
        steps = slice(start, min(start + group, whole))
        for chunk in chunk_sums(split_chunks(left[steps]), split_chunks(right[steps])):
            out += chunk
    if whole < len(left):
        out += chunk_sums(left[whole:], right[whole:])


def split_chunks(panel: Array) -> Array:
    """View a panel of whole chunks (chunks * 512, ...) as (512, chunks, ...)."""
    return panel.reshape(-1, CHUNK, *panel.shape[1:]).swapaxes(0, 1)


def chunk_sums(left: Array, right: Array) -> Array:
    """Return the sums over at most 512 steps s of ``left[s, ..., m] * right[s, ..., n]``.

    Shape (..., M, N). Runs inside ``parallel``, which ends the buffer setting made here: the
    iterator would otherwise copy the operands of rows that fit its buffer, four times slower; for
    short rows that copy pays.
    """
    np.setbufsize(16 if right.shape[-1] >= _SHORT_ROW else 1024)
    sums = np.zeros((*left.shape[1:], right.shape[-1]), left.dtype)
    rows = left.shape[-1]
    height = max(1, TILE * rows // max(1, sums.size))
    for top in range(0, rows, height):
        block = slice(top, top + height)
        total = sums[..., block, :]
        products = np.empty_like(total)
        for x, y in zip(left[..., block, None], right[..., None, :], strict=True):
            np.multiply(x, y, products)
            np.add(total, products, total)
    return sums


def _repeats(x: Array, batch_dims: int) -> bool:
    """Tell whether every matrix of the batch is the same memory."""
    dims = zip(x.shape[:batch_dims], x.strides, strict=False)
    return 0 not in x.shape and all(size == 1 or stride == 0 for size, stride in dims)


def _tiled(left: Array, right: Array) -> Array:
    """Return the contraction of ``left`` (K, G, M) and ``right`` (K, G, N), tile by tile."""
    if right.strides[-1] != right.itemsize:
        right = np.ascontiguousarray(right)
    shape = (*left.shape[1:], right.shape[-1])
    out = np.empty(shape, left.dtype)

    def run(tile: tuple[slice, slice, slice]) -> None:
        groups, rows, columns = tile
        contract(left[:, groups, rows], right[:, groups, columns], out[tile])

    ranges = (_blocks(*pair) for pair in zip(shape, _tile(shape, len(left)), strict=True))
    for _ in parallel(run, list(product(*ranges))):
        pass
    return out


def _tile(shape: tuple[int, ...], steps: int) -> tuple[int, int, int]:
    groups, rows, columns = (max(1, size) for size in shape)
    width = min(columns, _ROW)
    height = min(rows, max(1, TILE // width))
    depth = min(groups, max(1, TILE // (rows * columns)))
    if groups * rows * columns * (1 + steps // CHUNK) > TILE:  # enough work for every thread
        threads = thread_count()
        if groups > 1:
            depth = min(depth, -(-groups // threads))
        else:
            height = min(height, -(-rows // threads))
    return depth, height, width


def _blocks(size: int, block: int) -> list[slice]:
    return [slice(start, min(start + block, size)) for start in range(0, size, block)]
